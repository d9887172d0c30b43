;;; memoryd-file.el --- The files of memories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A memory is a Markdown file.  `memoryd-open' visits it, so that
;; \\[xref-go-back] leads back, and what is saved there is confirmed as the
;; person's own: otherwise the daemon could not know who changed it.
;;
;; In these files and in memoryd's own buffers, the name of a memory's file
;; is an identifier for xref.

;;; Code:

(require 'memoryd-connection)
(require 'xref)

(defvar memoryd--files nil
  "An alist of memories that were listed or recalled: file name and path.")

(defvar-local memoryd--directory nil
  "The folder whose project this buffer is about.")

(defun memoryd--know (memories)
  "Take note of where the files of MEMORIES are."
  (seq-doseq (memory memories)
    (let ((path (plist-get memory :path)))
      (setf (alist-get (file-name-nondirectory path) memoryd--files nil nil #'equal)
            path))))

(defun memoryd--one-line (text)
  "Return TEXT on one line."
  (string-trim (replace-regexp-in-string "[[:space:][:cntrl:]]+" " " text)))

(defun memoryd--true-p (value)
  "Return non-nil if VALUE, from the daemon, is true."
  (eq value t))

(defun memoryd-open (path directory)
  "Visit the memory's file at PATH, found from the project of DIRECTORY."
  (xref-push-marker-stack)
  (find-file path)
  (setq memoryd--directory directory)
  (memoryd-file-mode 1))

(defun memoryd--confirm ()
  "Tell the daemon that a person has changed this file."
  (memoryd-request "memory/trust"
                   (list :cwd (or memoryd--directory (memoryd-directory))
                         :paths (vector (expand-file-name buffer-file-name)))
                   #'ignore))

;;;###autoload
(define-minor-mode memoryd-file-mode
  "Tell memoryd that what is saved in this file is a person's change."
  :lighter " Memory"
  (if memoryd-file-mode
      (progn
        (add-hook 'after-save-hook #'memoryd--confirm nil t)
        (add-hook 'xref-backend-functions #'memoryd--xref-backend nil t))
    (remove-hook 'after-save-hook #'memoryd--confirm t)
    (remove-hook 'xref-backend-functions #'memoryd--xref-backend t)))


;;; Xref

(defun memoryd--xref-backend ()
  "Return the xref backend of memories."
  'memoryd)

(cl-defmethod xref-backend-identifier-at-point ((_backend (eql 'memoryd)))
  "Return the name of the memory's file at point."
  (or (let ((path (get-text-property (point) 'memoryd-path)))
        (and path (file-name-nondirectory path)))
      (let ((name (thing-at-point 'filename t)))
        (and name (string-suffix-p ".md" name) (file-name-nondirectory name)))))

(cl-defmethod xref-backend-definitions ((_backend (eql 'memoryd)) identifier)
  "Return where the memory whose file is called IDENTIFIER is."
  (let* ((beside (and buffer-file-name (expand-file-name identifier)))
         (path (if (and beside (file-exists-p beside))
                   beside
                 (alist-get identifier memoryd--files nil nil #'equal))))
    (and path (list (xref-make identifier (xref-make-file-location path 1 0))))))

(cl-defmethod xref-backend-identifier-completion-table ((_backend (eql 'memoryd)))
  "Return the names of the files of memories that were seen."
  (mapcar #'car memoryd--files))

(provide 'memoryd-file)
;;; memoryd-file.el ends here
