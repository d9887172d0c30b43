;;; emacs-scenario.el --- A day with the package  -*- lexical-binding: t; -*-

;;; Commentary:

;; No daemon, a daemon, a restart, and none again.

;;; Code:

(load (expand-file-name "emacs-script" (getenv "MEMORYD_TEST_SCRIPTS")) nil t)
(require 'memoryd)

;; Without a daemon.
(script-result "absent" (script-said-after (lambda () (memoryd-recall "deploys"))))

;; The daemon starts: nobody has to do anything.
(add-hook 'memoryd-event-functions (lambda (event) (push event script-events)))
(script-wish "start")
(script-wait "a connection" #'memoryd--running-p)

;; The region.
(switch-to-buffer "notes")
(setq default-directory (file-name-as-directory (getenv "MEMORYD_TEST_PROJECT")))
(insert "Minutes: We deploy on Thursdays, after the review, with make ship. Then lunch.")
(transient-mark-mode 1)
(goto-char (point-min))
(search-forward "ship.")
(push-mark (save-excursion (search-backward "We deploy") (point)) t t)
(script-result "remembered" (script-said-after (lambda () (call-interactively #'memoryd-remember))))
(script-wait "the event" (lambda () script-events))
(script-result "event" (car script-events))
(deactivate-mark)
(script-result "refused"
               (script-said-after
                (lambda () (memoryd-remember "The function foo is in file bar.py line 3"))))
(script-said-after (lambda () (memoryd-remember "Use tabs in Makefiles, never spaces.")))

;; Recall, and the file itself.
(memoryd-recall "when do we deploy?")
(script-result "recalled" (script-wait-for-lines "*memory recall*" "Thursdays"))
(switch-to-buffer "*memory recall*")
(goto-char (point-min))
(script-result "identifier" (xref-backend-identifier-at-point 'memoryd))
(script-result "definition"
               (xref-location-group
                (xref-item-location
                 (car (xref-backend-definitions
                       'memoryd (xref-backend-identifier-at-point 'memoryd))))))
(memoryd-recall-open)
(script-result "opened" buffer-file-name)
(goto-char (point-max))
(insert "Never on a Friday.\n")
(let ((inhibit-message t)) (save-buffer))
(script-result
 "still_of_unknown_origin"
 (let (waiting asked)
   (script-wait "trust"
                (lambda ()
                  (unless asked
                    (setq asked t)
                    (memoryd-request "memory/trust" (list :cwd (getenv "MEMORYD_TEST_PROJECT"))
                                     (lambda (answer)
                                       (setq waiting (plist-get answer :waiting)
                                             asked (seq-empty-p waiting)))))
                  (and waiting (seq-empty-p waiting) '(t))))
   waiting))
(xref-pop-marker-stack)
(script-result "back_in" (buffer-name))

;; The list, which follows events, and a history with what changed.
(switch-to-buffer "notes")
(memoryd-list)
(script-result "listed" (script-wait-for-lines "*memories*" "Thursdays"))
(memoryd-remember "Lunch is at noon on weekdays." nil nil)
(script-wait-for-lines "*memories*" "Lunch")
(switch-to-buffer "*memories*")
(goto-char (point-min))
(search-forward "deploy_thursdays")
(memoryd-list-history)
(script-result "history" (script-wait-for-lines (current-buffer) "^ 2 "))
(goto-char (point-min))
(memoryd-history-diff)
(script-result "diff" (script-wait-for-lines "*memoryd diff*" "Friday"))
(goto-char (point-max))
(forward-line -1)
(script-result "restored" (script-said-after #'memoryd-history-restore))
(script-wait-for-lines (current-buffer) "^ 3 ")

;; A dream, in the mode line.
(switch-to-buffer "notes")
(let (lines)
  (memoryd-mode 1)
  (add-hook 'memoryd-event-functions
            (lambda (_event) (push (substring-no-properties (memoryd-mode-line)) lines)) 90)
  (setq script-said nil)
  (memoryd-dream)
  (script-wait "the end of the dream"
               (lambda () (cl-some (lambda (line) (string-match-p "is done" line)) script-said)))
  (script-result "dream" (vconcat (reverse script-said)))
  (script-result "dream_lines" (vconcat (reverse lines))))

(script-result "dream_undone" (script-said-after #'memoryd-dream-undo))

;; The inbox.
(script-wish "say")
(script-wait "the inbox in the mode line"
             (lambda () (not (string-empty-p (memoryd-mode-line)))))
(script-result "inbox_line" (substring-no-properties (memoryd-mode-line)))
(memoryd-inbox)
(script-result "inbox" (script-wait-for-lines "*memory inbox*" "pnpm"))
(goto-char (point-min))
(memoryd-inbox-show)
(script-result "statement" (script-lines "*memory statement*"))
(switch-to-buffer "*memory inbox*")
(goto-char (point-min))
(script-result "accepted" (script-said-after #'memoryd-inbox-accept))
(script-wait "an empty inbox" (lambda () (string-empty-p (memoryd-mode-line))))

;; A daemon that does not answer holds nothing up.
(switch-to-buffer "notes")
(kill-buffer "*memory recall*")
(script-wish "freeze")
(memoryd-recall "when do we deploy?")
(let ((ticks 0))
  (script-wait "Emacs to go on" (lambda () (> (setq ticks (1+ ticks)) 10))))
(script-result "answered_while_frozen" (if (get-buffer "*memory recall*") t :json-false))
(script-wish "thaw")
(script-wait-for-lines "*memory recall*" "Thursdays")
(kill-buffer "*memory recall*")

;; A restart in the middle.
(switch-to-buffer "notes")
(setq script-said nil)
(script-wish "restart")
(script-wait "a new connection" #'memoryd--running-p)
(script-result "said_at_restart" (vconcat script-said))
(memoryd-recall "when do we deploy?")
(script-result "recalled_after_restart" (script-wait-for-lines "*memory recall*" "Thursdays"))
(setq script-events nil)
(switch-to-buffer "*memories*")
(goto-char (point-min))
(search-forward "deploy_thursdays")
(script-result "forgotten" (script-said-after #'memoryd-list-forget))
(script-wait "an event of the new connection" (lambda () script-events))
(script-result "event_after_restart" (car (last script-events)))
(script-result "buffers"
               (cl-loop for buffer in (buffer-list)
                        for name = (buffer-name buffer)
                        when (and (string-prefix-p "*memoryd" name)
                                  (> (buffer-size buffer) 0))
                        vconcat (list name)))

;; What an agent runs is not a person's.
(setenv "CLAUDECODE" "1")
(setq script-events nil)
(switch-to-buffer "notes")
(script-said-after (lambda () (memoryd-remember "Retries of the importer wait for a minute.")))
(script-wait "the event of an agent" (lambda () script-events))
(script-result "agents_event" (car script-events))
(setenv "CLAUDECODE" nil)

;; A socket of somebody else.
(script-wish "stranger")
(memoryd-disconnect)
(setq memoryd-socket (expand-file-name "stranger.sock" script-folder))
(script-result "stranger" (script-said-after (lambda () (memoryd-recall "deploys"))))

;; Something else answers on the socket.
(switch-to-buffer "notes")
(script-wish "impostor")
(memoryd-disconnect)
(setq memoryd-socket (expand-file-name "impostor.sock" script-folder))
(script-result "impostor" (script-said-after (lambda () (memoryd-recall "deploys"))))
(memoryd-disconnect)
(setq memoryd-socket nil)

;; And no daemon again.
(script-wish "stop")
(script-result "absent_again" (script-said-after #'memoryd-list))
(script-result "finished" t)

;;; emacs-scenario.el ends here
