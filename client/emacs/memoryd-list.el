;;; memoryd-list.el --- A list of memories and their histories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `memoryd-list' lists the memories of a project: visit, forget, or look at
;; the history of each.  A history shows the difference that each version
;; made and restores one.  Lists follow the daemon's events.

;;; Code:

(require 'diff)
(require 'memoryd-connection)
(require 'memoryd-file)
(require 'tabulated-list)

(defvar memoryd--refresh-timer nil)

(defun memoryd--id-at-point ()
  "Return the id of this line, or signal an error."
  (or (tabulated-list-get-id) (user-error "There is nothing on this line")))

(defun memoryd--print (buffer entries)
  "Show ENTRIES in BUFFER if it still lives; point stays where it is."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq tabulated-list-entries entries)
      (tabulated-list-print t))))

(defun memoryd--list-buffer (name mode directory)
  "Return the buffer NAME in MODE, about the project of DIRECTORY."
  (let ((buffer (get-buffer-create name)))
    (with-current-buffer buffer
      (unless (derived-mode-p mode)
        (funcall mode))
      (setq memoryd--directory directory
            default-directory directory))
    buffer))


;;; Memories

(defvar memoryd-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'memoryd-list-open)
    (define-key map "o" #'memoryd-list-open)
    (define-key map "d" #'memoryd-list-forget)
    (define-key map "h" #'memoryd-list-history)
    map)
  "Keymap of `memoryd-list-mode'.")

(define-derived-mode memoryd-list-mode tabulated-list-mode "Memories"
  "The memories of a project.
\\{memoryd-list-mode-map}"
  (setq tabulated-list-format [("File" 30 t) ("Type" 10 t) ("Scope" 8 t)
                               ("Age" 10 nil) ("Description" 0 t)]
        tabulated-list-padding 1)
  (setq-local revert-buffer-function #'memoryd--revert-list)
  (add-hook 'xref-backend-functions #'memoryd--xref-backend nil t)
  (add-hook 'memoryd-event-functions #'memoryd--list-event)
  (tabulated-list-init-header))

(defun memoryd--list-entry (memory)
  "Return the line for MEMORY."
  (let ((path (plist-get memory :path)))
    (list path
          (vector (propertize (plist-get memory :file) 'memoryd-path path)
                  (plist-get memory :type)
                  (plist-get memory :scope)
                  (if (memoryd--true-p (plist-get memory :stale))
                      (propertize (plist-get memory :age) 'face 'warning)
                    (plist-get memory :age))
                  (memoryd--one-line
                   (if (string-empty-p (plist-get memory :description))
                       (plist-get memory :name)
                     (plist-get memory :description)))))))

(defun memoryd--revert-list (&rest _)
  "Ask for the memories of this list again."
  (let ((buffer (current-buffer)))
    (memoryd-request
     "memory/list" (list :cwd memoryd--directory)
     (lambda (answer)
       (let ((memories (plist-get answer :memories)))
         (memoryd--know memories)
         (memoryd--print buffer (mapcar #'memoryd--list-entry memories))
         (when (seq-empty-p memories)
           (message "memoryd: no memories here yet; save one with M-x memoryd-remember")))))))

(defun memoryd--list-event (event)
  "Refresh the lists there are if EVENT is about a memory."
  (when (and (string-prefix-p "memory/" (plist-get event :kind))
             (not (timerp memoryd--refresh-timer)))
    (setq memoryd--refresh-timer (run-at-time 0.2 nil #'memoryd--refresh-lists))))

(defun memoryd--refresh-lists ()
  "Ask for the memories of every list again."
  (setq memoryd--refresh-timer nil)
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (derived-mode-p 'memoryd-list-mode)
        (memoryd--revert-list)))))

;;;###autoload
(defun memoryd-list ()
  "List the memories of this project."
  (interactive)
  (let* ((directory (memoryd-directory))
         (buffer (memoryd--list-buffer "*memories*" 'memoryd-list-mode directory)))
    (pop-to-buffer buffer)
    (revert-buffer)))

(defun memoryd-list-open ()
  "Visit the file of the memory on this line."
  (interactive nil memoryd-list-mode)
  (memoryd-open (memoryd--id-at-point) memoryd--directory))

(defun memoryd-list-forget ()
  "Forget the memory on this line; it can be restored."
  (interactive nil memoryd-list-mode)
  (let* ((path (memoryd--id-at-point))
         (file (file-name-nondirectory path)))
    (when (y-or-n-p (format "Forget %s? " file))
      (memoryd-request
       "memory/forget" (list :cwd memoryd--directory :path path)
       (lambda (_answer)
         (message "memoryd: %s is forgotten; bring it back with: memoryd restore %s"
                  file file))))))

(defun memoryd-list-history ()
  "Show the history of the memory on this line."
  (interactive nil memoryd-list-mode)
  (memoryd-history (memoryd--id-at-point) memoryd--directory))


;;; The history of one memory

(defvar-local memoryd--path nil
  "The memory whose history this buffer shows.")

(defvar memoryd-history-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'memoryd-history-diff)
    (define-key map "=" #'memoryd-history-diff)
    (define-key map "r" #'memoryd-history-restore)
    map)
  "Keymap of `memoryd-history-mode'.")

(define-derived-mode memoryd-history-mode tabulated-list-mode "Memory-History"
  "The versions of a memory.
\\{memoryd-history-mode-map}"
  (setq tabulated-list-format [("Version" 8 nil) ("When" 20 nil) ("Cause" 12 nil)
                               ("Bytes" 8 nil :right-align t)]
        tabulated-list-padding 1)
  (setq-local revert-buffer-function #'memoryd--revert-history)
  (tabulated-list-init-header))

(defun memoryd--history-entry (version)
  "Return the line for VERSION."
  (let ((number (plist-get version :version)))
    (list number
          (vector (number-to-string number)
                  (replace-regexp-in-string "T" " " (plist-get version :at))
                  (plist-get version :cause)
                  (number-to-string (plist-get version :bytes))))))

(defun memoryd--revert-history (&rest _)
  "Ask for the versions of this memory again."
  (let ((buffer (current-buffer)))
    (memoryd-request
     "memory/history" (list :cwd memoryd--directory :path memoryd--path)
     (lambda (answer)
       (memoryd--print buffer (mapcar #'memoryd--history-entry
                                      (plist-get answer :versions)))))))

(defun memoryd-history (path directory)
  "Show the versions of the memory at PATH, found from DIRECTORY's project."
  (let* ((name (format "*history of %s*" (file-name-nondirectory path)))
         (buffer (memoryd--list-buffer name 'memoryd-history-mode directory)))
    (pop-to-buffer buffer)
    (setq memoryd--path path)
    (revert-buffer)))

(defun memoryd--with-version (number function)
  "Call FUNCTION later with the text of version NUMBER of this memory.
There is none before the first."
  (if (< number 1)
      (funcall function "")
    (memoryd-request "memory/history"
                     (list :cwd memoryd--directory :path memoryd--path :version number)
                     (lambda (answer)
                       (funcall function (or (plist-get answer :content) ""))))))

(defun memoryd-history-diff ()
  "Show what the version on this line changed."
  (interactive nil memoryd-history-mode)
  (let ((number (memoryd--id-at-point))
        (buffer (current-buffer)))
    (memoryd--with-version
     (1- number)
     (lambda (old)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (memoryd--with-version
            number (lambda (new) (memoryd--show-diff number old new)))))))))

(defun memoryd--show-diff (number old new)
  "Show how the texts OLD and NEW differ; NEW is version NUMBER."
  (let ((before (generate-new-buffer " *memoryd before*"))
        (after (generate-new-buffer " *memoryd after*"))
        (diff-use-labels nil))
    (unwind-protect
        (progn
          (with-current-buffer before (insert old))
          (with-current-buffer after (insert new))
          (display-buffer
           (diff-no-select before after
                           (list "-u" (format "--label=version-%d" (1- number))
                                 (format "--label=version-%d" number))
                           t (get-buffer-create "*memoryd diff*"))))
      (kill-buffer before)
      (kill-buffer after))))

(defun memoryd-history-restore ()
  "Restore the version on this line."
  (interactive nil memoryd-history-mode)
  (let ((number (memoryd--id-at-point))
        (buffer (current-buffer)))
    (when (y-or-n-p (format "Restore version %d? " number))
      (memoryd-request
       "memory/restore" (list :cwd memoryd--directory :path memoryd--path :version number)
       (lambda (_answer)
         (message "memoryd: version %d is restored" number)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (memoryd--revert-history))))))))

(provide 'memoryd-list)
;;; memoryd-list.el ends here
