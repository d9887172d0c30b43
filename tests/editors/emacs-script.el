;;; emacs-script.el --- What every script for Emacs needs  -*- lexical-binding: t; -*-

;;; Commentary:

;; Results, wishes, and waiting without a fixed time.

;;; Code:

(require 'cl-lib)
(require 'json)

(defvar script-said nil "Messages, the newest first.")
(defvar script-events nil "Events, the newest first.")
(defvar script-wishes 0)
(defvar script-folder (getenv "MEMORYD_TEST_FOLDER"))

(defun script-print (value)
  ;; Standard output would be kept back until there is more of it.
  (princ (concat "\n@@" (json-encode value) "\n") #'external-debugging-output))

(defun script-result (name value)
  (script-print (list :result name :value value)))

(defun script-wait (what done)
  "Wait for DONE to return non-nil; WHAT says what that means."
  (let ((deadline (time-add nil 30)) found)
    (while (and (not (setq found (funcall done))) (time-less-p nil deadline))
      (accept-process-output nil 0.01))
    (unless found
      (princ (format "waited in vain for %s\n%S\n%S\n" what script-said script-events)
             #'external-debugging-output)
      (kill-emacs 1))
    found))

(defun script-wish (name)
  (setq script-wishes (1+ script-wishes))
  (script-print (list :wish name :number script-wishes))
  (let ((done (expand-file-name (format "done-%d" script-wishes) script-folder)))
    (script-wait name (lambda () (file-exists-p done)))))

(defun script-said-after (work)
  "Return the messages that WORK leads to, once there is one of them."
  (setq script-said nil)
  (funcall work)
  (script-wait "a message" (lambda () script-said))
  (vconcat (reverse script-said)))

(defun script-lines (&optional buffer)
  "Return the text of BUFFER as lines."
  (with-current-buffer (or buffer (current-buffer))
    (vconcat (split-string (buffer-substring-no-properties (point-min) (point-max)) "\n"))))

(defun script-wait-for-lines (buffer regexp)
  "Wait until BUFFER matches REGEXP; return its lines."
  (script-wait (format "%s in %s" regexp buffer)
               (lambda ()
                 (and (get-buffer buffer)
                      (with-current-buffer buffer
                        (save-excursion
                          (goto-char (point-min))
                          (re-search-forward regexp nil t))))))
  (script-lines buffer))

;; Advice needs no compiler: what is tested is not compiled either.
(defvar native-comp-enable-subr-trampolines)
(setq native-comp-enable-subr-trampolines nil)
(advice-add 'message :before
            (lambda (format &rest arguments)
              (when (and (stringp format) (not inhibit-message))
                (push (apply #'format-message format arguments) script-said))))
;; The person at the keyboard says yes.
(advice-add 'y-or-n-p :override (lambda (&rest _) t))

(provide 'emacs-script)
;;; emacs-script.el ends here
