;;; memoryd.el --- What coding agents remember of a project  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience

;; This file is not part of GNU Emacs.

;;; Commentary:

;; memoryd is a daemon that gives coding agents a memory.  This package
;; searches that memory, adds to it and tidies it up, over the daemon's
;; socket:
;;
;;   M-x memoryd-recall     search this project's memories
;;   M-x memoryd-remember   save the region, or a text, as a memory
;;   M-x memoryd-list       visit, forget, compare versions
;;   M-x memoryd-inbox      decide on what may be worth remembering
;;   M-x memoryd-dream      let memoryd tidy up, followed in the mode line
;;   M-x memoryd-mode       dreams and the inbox in the mode line, always
;;
;; All of them are in `memoryd-command-map', which you may bind to a key:
;;
;;   (global-set-key (kbd "C-c m") 'memoryd-command-map)
;;
;; No request makes Emacs wait.  If the daemon restarts, the package connects
;; again by itself; if it is not running, a command says so in one line, with
;; what to type.

;;; Code:

(require 'memoryd-connection)
(require 'memoryd-file)
(require 'memoryd-inbox)
(require 'memoryd-list)
(require 'memoryd-mode-line)
(require 'text-property-search)

(defcustom memoryd-default-type "feedback"
  "What `memoryd-remember' saves a text as."
  :type '(choice (const "user") (const "feedback") (const "project")
                 (const "reference"))
  :group 'memoryd)

(defconst memoryd--types '("user" "feedback" "project" "reference"))


;;; Recall

(defvar-local memoryd--query nil
  "What this buffer shows the answer to.")

(defvar memoryd-recall-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'memoryd-recall-open)
    (define-key map "n" #'memoryd-recall-next)
    (define-key map "p" #'memoryd-recall-previous)
    map)
  "Keymap of `memoryd-recall-mode'.")

(define-derived-mode memoryd-recall-mode special-mode "Recall"
  "Memories that were recalled, the best first.
\\{memoryd-recall-mode-map}"
  (setq-local revert-buffer-function #'memoryd--revert-recall)
  (add-hook 'xref-backend-functions #'memoryd--xref-backend nil t)
  (visual-line-mode 1))

;;;###autoload
(defun memoryd-recall (query)
  "Show what is remembered about QUERY in this project."
  (interactive "sRecall: ")
  (let ((directory (memoryd-directory)))
    (memoryd-request
     "recall" (list :query query :cwd directory)
     (lambda (answer)
       (let ((memories (plist-get answer :memories)))
         (if (seq-empty-p memories)
             (message "memoryd: nothing is remembered about that; save it with M-x memoryd-remember")
           (memoryd--know memories)
           (memoryd--show-recalled query directory memories)))))))

(defun memoryd--show-recalled (query directory memories)
  "Show MEMORIES, which answer QUERY in the project of DIRECTORY."
  (with-current-buffer (memoryd--list-buffer "*memory recall*" 'memoryd-recall-mode
                                             directory)
    (setq memoryd--query query
          header-line-format (format " Recalled: %s" (memoryd--one-line query)))
    (let ((inhibit-read-only t))
      (erase-buffer)
      (seq-doseq (memory memories)
        (memoryd--insert-memory memory)))
    (goto-char (point-min))
    (pop-to-buffer (current-buffer))))

(defun memoryd--insert-memory (memory)
  "Insert MEMORY: a heading and its text."
  (let ((start (point))
        (age (concat (plist-get memory :age)
                     (and (memoryd--true-p (plist-get memory :stale)) ", check it"))))
    (insert (propertize (memoryd--one-line (plist-get memory :name)) 'face 'bold)
            (propertize (format "  %s, %s, %s" (plist-get memory :type)
                                (plist-get memory :scope) age)
                        'face 'shadow)
            "\n")
    (put-text-property start (point) 'memoryd-heading t)
    (insert (string-trim (plist-get memory :content)) "\n")
    (put-text-property start (point) 'memoryd-path (plist-get memory :path))
    (insert "\n")))

(defun memoryd--revert-recall (&rest _)
  "Ask the same again."
  (memoryd-recall memoryd--query))

(defun memoryd-recall-open ()
  "Visit the file of the memory at point."
  (interactive nil memoryd-recall-mode)
  (memoryd-open (or (get-text-property (point) 'memoryd-path)
                    (user-error "There is no memory at point"))
                memoryd--directory))

(defun memoryd-recall-next ()
  "Go to the next memory."
  (interactive nil memoryd-recall-mode)
  (let ((found (save-excursion (text-property-search-forward 'memoryd-heading t t t))))
    (when found
      (goto-char (prop-match-beginning found)))))

(defun memoryd-recall-previous ()
  "Go to the memory before this one."
  (interactive nil memoryd-recall-mode)
  (let ((found (save-excursion (text-property-search-backward 'memoryd-heading t t t))))
    (when found
      (goto-char (prop-match-beginning found)))))


;;; Remember

(defun memoryd--cut (text characters)
  "Return TEXT, cut at a word if it has more than CHARACTERS."
  (if (<= (length text) characters)
      text
    (let ((head (substring text 0 (1- characters))))
      (concat (if (string-match "\\`\\(.*[^ ]\\) " head) (match-string 1 head) head) "…"))))

(defun memoryd--name-for (text)
  "Return the first sentence of TEXT, cut at a word: its name."
  (let* ((text (string-trim text))
         (sentence (if (string-match "\\(?:.\\|\n\\)*?[.!?:;]\\(?:[ \t\n]\\)" text)
                       (string-trim (match-string 0 text))
                     text))
         (words (memoryd--one-line
                 (if (cdr (split-string sentence)) sentence text)))
         (name (string-trim words "[ .,:;-]+" "[ .,:;-]+")))
    (cond ((string-empty-p name) "note")
          ((<= (length name) 60) name)
          (t (concat (string-trim-right (substring (memoryd--cut name 60) 0 -1)
                                        "[ .,:;-]+")
                     "…")))))

(defun memoryd--description-for (text)
  "Return the first line of TEXT, cut at a word: its description."
  (memoryd--cut (memoryd--one-line (car (split-string (string-trim text) "\n"))) 150))

(defun memoryd--read-text ()
  "Return the region, or a text that is asked for."
  (if (use-region-p)
      (buffer-substring-no-properties (region-beginning) (region-end))
    (read-string "Remember: ")))

;;;###autoload
(defun memoryd-remember (text &optional type anyway)
  "Save TEXT as a memory of this project: the region, if there is one.
With a prefix argument, ask for its TYPE.  With two, save it ANYWAY,
even if the daemon would refuse it."
  (interactive
   (list (memoryd--read-text)
         (when (equal current-prefix-arg '(4))
           (completing-read "Type: " memoryd--types nil t nil nil memoryd-default-type))
         (equal current-prefix-arg '(16))))
  (let ((text (string-trim text)))
    (when (string-empty-p text)
      (user-error "There is nothing to remember"))
    (memoryd-request
     "memory/save"
     (list :cwd (memoryd-directory)
           :name (memoryd--name-for text)
           :description (memoryd--description-for text)
           :type (or type memoryd-default-type)
           :scope "auto"
           :body text
           :anyway (if anyway t :json-false))
     (lambda (answer)
       (message "memoryd: remembered in %s"
                (file-name-nondirectory (plist-get answer :path)))))))


;;; Dreams

(defvar memoryd--own-dreams nil
  "The numbers of dreams that were started here.")

(defun memoryd--dream-event (event)
  "Report the end of a dream that was started here, if EVENT is that."
  (let ((number (plist-get event :dream)))
    (when (and (equal (plist-get event :kind) "dream/finished")
               (memql number memoryd--own-dreams))
      (setq memoryd--own-dreams (delq number memoryd--own-dreams))
      (let ((words (plist-get event :words)))
        (message "memoryd: dream %d is %s: %s" number (plist-get event :state)
                 (if (string-empty-p words) (plist-get event :reason) words))))))

;;;###autoload
(defun memoryd-dream ()
  "Let memoryd tidy this project's memories up now.
How far it is shows in the mode line; this turns `memoryd-mode' on."
  (interactive)
  (add-hook 'memoryd-event-functions #'memoryd--dream-event)
  (unless memoryd-mode
    (memoryd-mode 1))
  (memoryd-request
   "dream/start" (list :cwd (memoryd-directory) :force t)
   (lambda (answer)
     (push (plist-get answer :dream) memoryd--own-dreams)
     (message "memoryd: dream %d has started" (plist-get answer :dream)))))

;;;###autoload
(defun memoryd-dream-stop ()
  "Stop the dream of this project."
  (interactive)
  (memoryd-request
   "dream/stop" (list :cwd (memoryd-directory))
   (lambda (dream)
     (message "memoryd: dream %d is %s" (plist-get dream :dream) (plist-get dream :state)))))

;;;###autoload
(defun memoryd-dream-undo ()
  "Undo the last dream of this project."
  (interactive)
  (memoryd-request
   "dream/undo" (list :cwd (memoryd-directory))
   (lambda (undone)
     (message "memoryd: dream %d is undone: %d files restored" (plist-get undone :dream)
              (length (plist-get undone :restored))))))


;;; Keys

(defvar memoryd-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "r" #'memoryd-recall)
    (define-key map "m" #'memoryd-remember)
    (define-key map "l" #'memoryd-list)
    (define-key map "i" #'memoryd-inbox)
    (define-key map "d" #'memoryd-dream)
    map)
  "Keymap of memoryd's commands, to be bound to a key of your choice.")

;;;###autoload (autoload 'memoryd-command-map "memoryd" nil nil 'keymap)
(fset 'memoryd-command-map memoryd-command-map)

(provide 'memoryd)
;;; memoryd.el ends here
