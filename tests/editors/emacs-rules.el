;;; emacs-rules.el --- The rules alone  -*- lexical-binding: t; -*-

;;; Commentary:

;; Where the socket is, and what a text is called.

;;; Code:

(load (expand-file-name "emacs-script" (getenv "MEMORYD_TEST_SCRIPTS")) nil t)
(require 'memoryd)

(let* ((json-object-type 'plist)
       (cases (json-read-file (expand-file-name "cases.json" script-folder))))
  (script-result
   "sockets"
   (cl-map 'vector
           (lambda (case)
             (let ((environment (cl-loop for (name value) on (plist-get case :environ) by #'cddr
                                         collect (cons (substring (symbol-name name) 1) value))))
               (condition-case failure
                   (list :path (memoryd--found-socket
                                environment (plist-get case :uid) (plist-get case :homedir)
                                (equal (plist-get case :platform) "darwin")
                                (lambda (path) (seq-contains-p (plist-get case :there) path))))
                 (memoryd-failure (list :problem (cadr failure))))))
           (plist-get cases :sockets)))
  (script-result
   "texts"
   (cl-map 'vector
           (lambda (text) (vector (memoryd--name-for text) (memoryd--description-for text)))
           (plist-get cases :texts))))
(script-result "finished" t)

;;; emacs-rules.el ends here
