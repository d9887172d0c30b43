;;; memoryd-mode-line.el --- Dreams and the inbox in the mode line  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `memoryd-mode' follows the daemon's events and shows, while there is
;; something to show, how far a dream is and how much waits in the inbox.

;;; Code:

(require 'memoryd-connection)

(defvar memoryd--dreams nil
  "An alist of running dreams: the number, and the last events as one plist.")

(defvar memoryd--inbox-count 0
  "How many statements wait in the inbox, of all projects.")

(defvar memoryd--count-timer nil)

(defun memoryd--dream-text (dream)
  "Return how far DREAM is, in a few words."
  (let ((step (replace-regexp-in-string "\\`\\([0-9]+\\) of \\([0-9]+\\)\\'" "\\1/\\2"
                                        (or (plist-get dream :step) "")))
        (phase (or (plist-get dream :phase) ""))
        (usd (or (plist-get dream :usd) 0)))
    (string-join
     (cl-remove "" (list "dream" step phase (if (> usd 0) (format "$%.2f" usd) ""))
                :test #'equal)
     " ")))

(defun memoryd-mode-line ()
  "Return the text for the mode line; empty if there is nothing to show."
  (let ((parts (append
                (and memoryd--dreams
                     (list (memoryd--dream-text (cdar memoryd--dreams))))
                (and (> memoryd--inbox-count 0)
                     (list (format "inbox %d" memoryd--inbox-count))))))
    (if parts
        (propertize (format " memory: %s" (string-join parts ", "))
                    'help-echo (or (plist-get (cdar memoryd--dreams) :project)
                                   "M-x memoryd-inbox"))
      "")))

(defun memoryd--mode-line-event (event)
  "Take note of EVENT for the mode line."
  (let ((kind (plist-get event :kind))
        (number (plist-get event :dream)))
    (cond
     ((equal kind "dream/finished")
      (setq memoryd--dreams (assq-delete-all number memoryd--dreams)))
     ((string-prefix-p "dream/" kind)
      (let ((dream (copy-sequence (alist-get number memoryd--dreams))))
        (dolist (key '(:project :step :phase :usd))
          (when (plist-get event key)
            (setq dream (plist-put dream key (plist-get event key)))))
        (setf (alist-get number memoryd--dreams) dream))))
    (unless (string-prefix-p "dream/p" kind)
      (memoryd--count-soon)))
  (force-mode-line-update t))

(defun memoryd--count-soon (&rest _)
  "Count the inbox again, once for a burst of events."
  (unless (timerp memoryd--count-timer)
    (setq memoryd--count-timer (run-at-time 0.1 nil #'memoryd--count-inbox))))

(defun memoryd--count-inbox ()
  "Ask how much waits in the inbox."
  (setq memoryd--count-timer nil)
  (when (memoryd--running-p)
    (memoryd--send "inbox/list" nil
                   (lambda (answer)
                     (setq memoryd--inbox-count (length (plist-get answer :items)))
                     (force-mode-line-update t))
                   #'ignore)))

(defun memoryd--mode-line-reset ()
  "Forget dreams and inbox: a dream does not survive its daemon."
  (setq memoryd--dreams nil
        memoryd--inbox-count 0)
  (force-mode-line-update t))

;;;###autoload
(define-minor-mode memoryd-mode
  "Show memoryd's dreams and inbox in the mode line."
  :global t
  :group 'memoryd
  (let ((segment '(:eval (memoryd-mode-line))))
    (setq global-mode-string (remove segment (or global-mode-string '(""))))
    (memoryd--mode-line-reset)
    (remove-hook 'memoryd-event-functions #'memoryd--mode-line-event)
    (remove-hook 'memoryd-connected-hook #'memoryd--count-soon)
    (remove-hook 'memoryd-disconnected-hook #'memoryd--mode-line-reset)
    (when memoryd-mode
      (setq global-mode-string (append global-mode-string (list segment)))
      (add-hook 'memoryd-event-functions #'memoryd--mode-line-event)
      (add-hook 'memoryd-connected-hook #'memoryd--count-soon)
      (add-hook 'memoryd-disconnected-hook #'memoryd--mode-line-reset)
      (memoryd-follow)
      (memoryd--count-soon))))

(provide 'memoryd-mode-line)
;;; memoryd-mode-line.el ends here
