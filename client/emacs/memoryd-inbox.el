;;; memoryd-inbox.el --- Decide what is worth remembering  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Statements that may be worth remembering wait in the inbox until somebody
;; decides.  `memoryd-inbox' lists those of all projects.

;;; Code:

(require 'memoryd-connection)
(require 'memoryd-file)
(require 'memoryd-list)
(require 'memoryd-mode-line)

(defvar memoryd-inbox-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'memoryd-inbox-show)
    (define-key map "a" #'memoryd-inbox-accept)
    (define-key map "e" #'memoryd-inbox-edit)
    (define-key map "r" #'memoryd-inbox-reject)
    map)
  "Keymap of `memoryd-inbox-mode'.")

(defconst memoryd--reasons
  '(("may-last" . "it may hold beyond the task it was said in")
    ("secret" . "it says little without the secret in it, which is never saved")
    ("long-message"
     . "the message is long or shows another voice: it may not be your own words")
    ("review" . "everything waits for review here")
    ("contradicts" . "it may contradict what is remembered")
    ("agent" . "the agent concluded it")
    ("imported" . "it came with an archive")
    ("team" . "its author is new to this machine; to accept it takes over all that they share"))
  "Why a statement waits.")

(defvar-local memoryd--items nil
  "The statements in this buffer.")

(define-derived-mode memoryd-inbox-mode tabulated-list-mode "Memory-Inbox"
  "Statements that may be worth remembering.
\\{memoryd-inbox-mode-map}"
  (setq tabulated-list-format [("Type" 10 t) ("Project" 16 t) ("Statement" 0 nil)]
        tabulated-list-padding 1)
  (setq-local revert-buffer-function #'memoryd--revert-inbox)
  (tabulated-list-init-header))

(defun memoryd--inbox-entry (item)
  "Return the line for ITEM."
  (list (plist-get item :id)
        (vector (plist-get item :type)
                (file-name-nondirectory
                 (directory-file-name (plist-get item :project)))
                (concat (and (memoryd--true-p (plist-get item :retires)) "(retires one) ")
                        (memoryd--one-line (plist-get item :text))))))

(defun memoryd--revert-inbox (&rest _)
  "Ask for the inbox again."
  (let ((buffer (current-buffer)))
    (memoryd-request
     "inbox/list" nil
     (lambda (answer)
       (let ((items (plist-get answer :items)))
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (setq memoryd--items (append items nil))))
         (memoryd--print buffer (mapcar #'memoryd--inbox-entry items))
         (when (seq-empty-p items)
           (message "memoryd: the inbox is empty")))))))

;;;###autoload
(defun memoryd-inbox ()
  "List statements that may be worth remembering, of all projects."
  (interactive)
  (pop-to-buffer (memoryd--list-buffer "*memory inbox*" 'memoryd-inbox-mode
                                       (memoryd-directory)))
  (revert-buffer))

(defun memoryd--item-at-point ()
  "Return the statement on this line."
  (let ((id (memoryd--id-at-point)))
    (cl-find id memoryd--items :key (lambda (item) (plist-get item :id)))))

(defun memoryd--decide (method params)
  "Send METHOD with PARAMS and the id on this line, then show what is left."
  (let ((buffer (current-buffer))
        (ids (vector (memoryd--id-at-point))))
    (memoryd-request
     method (append (list :ids ids) params)
     (lambda (answer)
       (seq-doseq (one (plist-get answer :kept))
         (message "memoryd: %s %s"
                  (if (memoryd--true-p (plist-get one :is_retired))
                      "retired to" "remembered in")
                  (file-name-nondirectory (plist-get one :path))))
       (seq-doseq (one (plist-get answer :refused))
         (memoryd-report (plist-get one :reason) (plist-get one :hint)))
       (memoryd--count-soon)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (memoryd--revert-inbox)))))))

(defun memoryd-inbox-accept ()
  "Keep the statement on this line as a memory."
  (interactive nil memoryd-inbox-mode)
  (memoryd--decide "inbox/accept" nil))

(defun memoryd-inbox-edit (text)
  "Keep the statement on this line, in the words of TEXT."
  (interactive
   (list (read-string "Keep as: "
                      (memoryd--one-line (plist-get (memoryd--item-at-point) :text))))
   memoryd-inbox-mode)
  (memoryd--decide "inbox/edit" (list :text text)))

(defun memoryd-inbox-reject ()
  "Drop the statement on this line; it is not offered again."
  (interactive nil memoryd-inbox-mode)
  (memoryd--decide "inbox/reject" nil))

(defun memoryd-inbox-show ()
  "Show the statement on this line with what was said around it."
  (interactive nil memoryd-inbox-mode)
  (let ((item (memoryd--item-at-point)))
    (with-help-window "*memory statement*"
      (princ (plist-get item :text))
      (princ (format "\n\nIn %s.  It waits because %s.\n"
                     (plist-get item :project)
                     (alist-get (plist-get item :reason) memoryd--reasons
                                (plist-get item :reason) nil #'equal)))
      (seq-doseq (old (plist-get item :against))
        (princ (format "\nIt may contradict %s: %s\n"
                       (plist-get old :file) (plist-get old :text))))
      (when (memoryd--true-p (plist-get item :retires))
        (princ "To accept it retires that memory.\n"))
      (unless (string-empty-p (plist-get item :around))
        (princ (format "\n%s\n" (replace-regexp-in-string
                                 "^" "  | " (plist-get item :around))))))))

(provide 'memoryd-inbox)
;;; memoryd-inbox.el ends here
