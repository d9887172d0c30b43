;;; memoryd-connection.el --- The connection to memoryd  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One connection for this Emacs, over jsonrpc.el.
;;
;; - No request waits: `memoryd-request' calls a function later, with the
;;   answer or the failure, outside the process filter.
;; - A request connects if there is no connection.  A connection that breaks
;;   is made again, first soon, then less and less often.
;; - A socket of another user is never used.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'jsonrpc)
(require 'subr-x)

(defgroup memoryd nil
  "What coding agents remember of a project."
  :group 'tools
  :prefix "memoryd-")

(defcustom memoryd-socket nil
  "The daemon's socket, or nil to find it as the memoryd command does."
  :type '(choice (const :tag "As the memoryd command finds it" nil) file))

(defvar memoryd-event-functions nil
  "Functions that are called with each event of the daemon, a plist.
Its `:kind' says what happened; memoryd's page about the socket lists
the kinds and what else is in each.")

(defvar memoryd-connected-hook nil
  "Hook that is run after each new connection to the daemon.")

(defvar memoryd-disconnected-hook nil
  "Hook that is run when a connection to the daemon is over.")

(defconst memoryd--event-kinds
  ["memory/saved" "memory/forgotten" "memory/retired" "extraction/finished"
   "dream/started" "dream/phase" "dream/file" "dream/finished"])

(defconst memoryd--agent-variables
  '("CLAUDECODE" "CLAUDE_CODE_ENTRYPOINT" "CODEX_SANDBOX" "CODEX_THREAD_ID"
    "CURSOR_AGENT" "GEMINI_CLI" "OPENCODE" "AI_AGENT")
  "What coding agents set for the programs that they run.
A change that is made there is not a person's.")

(defconst memoryd--first-retry-seconds 0.2)
(defconst memoryd--last-retry-seconds 30)
(defconst memoryd--answer-seconds 60)
(defconst memoryd--start-hint
  "type: memoryd serve, or for good: memoryd install --service")
(defconst memoryd--doctor-hint "type: memoryd doctor")

(defvar memoryd--connection nil)
(defvar memoryd--process nil)
(defvar memoryd--retry-timer nil)
(defvar memoryd--retry-seconds memoryd--first-retry-seconds)

(define-error 'memoryd-failure "Memoryd")


;;; Where the daemon listens

;; The rules are those of the memoryd command, byte for byte.

(defun memoryd--bytes (text)
  "Return how many bytes TEXT has in a path."
  (length (memoryd--encoded text)))

(defun memoryd--encoded (text)
  "Return the bytes of TEXT as the system has them."
  (if (multibyte-string-p text)
      (encode-coding-string text (or file-name-coding-system
                                     default-file-name-coding-system
                                     'utf-8))
    text))

(defun memoryd--folder (environment name)
  "Return the normalised folder that the variable NAME of ENVIRONMENT names.
That is nil unless it is an absolute path.  ENVIRONMENT is an alist."
  (let ((value (or (alist-get name environment nil nil #'equal) "")))
    (when (and (string-prefix-p "/" value) (<= (memoryd--bytes value) 4096))
      (concat "/" (string-join (cl-remove "." (split-string value "/" t) :test #'equal)
                               "/")))))

(defun memoryd--within (folder name)
  "Return the path of NAME in FOLDER."
  (concat (replace-regexp-in-string "/+\\'" "" folder) "/" name))

(defun memoryd--state-folder (environment home darwin)
  "Return the daemon's state folder, by ENVIRONMENT.
HOME is the user's own.  DARWIN is non-nil on macOS."
  (let ((usual (if darwin "Library/Application Support" ".local/state")))
    (memoryd--within
     (or (memoryd--folder environment "XDG_STATE_HOME")
         (memoryd--within (or (memoryd--folder environment "HOME") home) usual))
     "memoryd")))

(defun memoryd--socket-path (environment uid home darwin)
  "Return where the daemon of user UID listens, by ENVIRONMENT.
HOME is the user's own.  DARWIN is non-nil on macOS.  Signals
`memoryd-failure' if MEMORYD_SOCKET cannot be used."
  (let* ((limit (if darwin 103 107))
         (asked (or (alist-get "MEMORYD_SOCKET" environment nil nil #'equal) ""))
         (folder (or (memoryd--folder environment "XDG_RUNTIME_DIR")
                     (memoryd--state-folder environment home darwin)))
         (path (memoryd--within folder "memoryd.sock")))
    (cond
     ((not (equal asked ""))
      (if (and (string-prefix-p "/" asked) (<= (memoryd--bytes asked) limit))
          asked
        (signal 'memoryd-failure
                (list (format "MEMORYD_SOCKET must be a full path of at most %d bytes" limit)
                      "choose another path, or unset MEMORYD_SOCKET"))))
     ((<= (memoryd--bytes path) limit) path)
     (t (format "/tmp/memoryd-%d-%s/memoryd.sock" uid
                (substring (secure-hash 'sha256 (memoryd--encoded path)) 0 12))))))

(defun memoryd--found-socket (environment uid home darwin exists)
  "Return where the daemon really listens: it may have other variables.
ENVIRONMENT, UID, HOME and DARWIN are as in `memoryd--socket-path'.
EXISTS tells whether there is a file at a path."
  (let ((path (memoryd--socket-path environment uid home darwin))
        (asked (alist-get "MEMORYD_SOCKET" environment nil nil #'equal)))
    (if (or (not (member asked '(nil ""))) (funcall exists path))
        path
      (let* ((by-runtime (memoryd--folder environment "XDG_RUNTIME_DIR"))
             (own-home (equal (or (memoryd--folder environment "HOME") home) home))
             (other (if by-runtime
                        (memoryd--within (memoryd--state-folder environment home darwin)
                                         "memoryd.sock")
                      (format "/run/user/%d/memoryd.sock" uid))))
        (if (and (or by-runtime own-home) (funcall exists other)) other path)))))

(defun memoryd--environment ()
  "Return the variables that decide where the socket is."
  (mapcar (lambda (name) (cons name (getenv name)))
          '("MEMORYD_SOCKET" "XDG_RUNTIME_DIR" "XDG_STATE_HOME" "HOME")))

(defun memoryd-socket-path ()
  "Return the path of the daemon's socket."
  (if memoryd-socket
      (expand-file-name memoryd-socket)
    (let ((home (directory-file-name
                 (expand-file-name (concat "~" (user-login-name (user-uid)))))))
      (memoryd--found-socket (memoryd--environment) (user-uid) home
                             (eq system-type 'darwin) #'file-exists-p))))


;;; Connecting

(defun memoryd--check-owner (path)
  "Signal `memoryd-failure' unless the socket at PATH is this user's own."
  (let ((socket (file-attributes path 'integer))
        (folder (file-attributes (file-name-directory path) 'integer)))
    (unless socket
      (signal 'memoryd-failure (list "the daemon is not running" memoryd--start-hint)))
    (unless (and (eql (file-attribute-user-id socket) (user-uid))
                 (memq (file-attribute-user-id folder) (list 0 (user-uid))))
      (signal 'memoryd-failure
              (list (concat path " belongs to another user") memoryd--doctor-hint)))))

(defun memoryd--make-process (path)
  "Connect to the socket at PATH, or signal `memoryd-failure'."
  (memoryd--check-owner path)
  (condition-case nil
      (make-network-process :name "memoryd" :family 'local :service path
                            :noquery t :coding 'utf-8-emacs-unix)
    (file-error
     (signal 'memoryd-failure
             (if (file-writable-p path)
                 (list "the daemon is not running" memoryd--start-hint)
               (list (concat "this user may not open " path) memoryd--doctor-hint))))))

(defun memoryd--without-log ()
  "Return initargs for a connection that logs no messages: they have memories.
The name of that option depends on the version of jsonrpc.el."
  (if (cl-find '-events-buffer-config (eieio-class-slots 'jsonrpc-process-connection)
               :key #'eieio-slot-descriptor-name)
      '(:events-buffer-config (:size 0 :format full))
    '(:events-buffer-scrollback-size 0)))

(defun memoryd--running-p ()
  "Return non-nil if there is a connection."
  (and memoryd--connection (jsonrpc-running-p memoryd--connection)))

(defun memoryd--connect ()
  "Return the connection, a new one if need be, or signal `memoryd-failure'."
  (unless (memoryd--running-p)
    (memoryd--stop-retrying)
    (condition-case failure
        (let ((process (memoryd--make-process (memoryd-socket-path))))
          (setq memoryd--process process
                memoryd--connection
                (apply #'make-instance 'jsonrpc-process-connection
                       :name "memoryd"
                       :process process
                       :notification-dispatcher #'memoryd--notified
                       :on-shutdown #'memoryd--disconnected
                       (memoryd--without-log)))
          ;; The library reports each end of a connection in the echo area.
          (add-function :around (process-sentinel process) #'memoryd--quietly)
          (memoryd--send "events/subscribe" (list :kinds memoryd--event-kinds)
                         #'memoryd--answered #'ignore)
          (run-hooks 'memoryd-connected-hook))
      (memoryd-failure
       (memoryd--retry-later)
       (signal (car failure) (cdr failure)))))
  memoryd--connection)

(defun memoryd--answered (_answer)
  "Take note that the other side is a daemon: its end will mean a restart."
  (setq memoryd--retry-seconds memoryd--first-retry-seconds))

(defun memoryd--quietly (function &rest arguments)
  "Call FUNCTION with ARGUMENTS without a message in the echo area."
  (let ((inhibit-message t)
        (message-log-max nil))
    (apply function arguments)))

(defun memoryd--disconnected (connection)
  "Clean up after CONNECTION and make a new one later."
  (dolist (buffer (list (jsonrpc-events-buffer connection)
                        (jsonrpc-stderr-buffer connection)))
    (when (buffer-live-p buffer)
      (kill-buffer buffer)))
  (when (eq connection memoryd--connection)
    (setq memoryd--connection nil)
    (run-at-time 0 nil #'run-hooks 'memoryd-disconnected-hook)
    (memoryd--retry-later)))

(defun memoryd--retry-later ()
  "Connect again after a while that grows with each try in vain."
  (memoryd--stop-retrying)
  (setq memoryd--retry-timer
        (run-at-time memoryd--retry-seconds nil #'memoryd-follow)
        memoryd--retry-seconds (min memoryd--last-retry-seconds
                                    (* 2 memoryd--retry-seconds))))

(defun memoryd--stop-retrying ()
  "Forget about connecting later."
  (when memoryd--retry-timer
    (cancel-timer memoryd--retry-timer)
    (setq memoryd--retry-timer nil)))

(defun memoryd-follow ()
  "Connect, silently, now or as soon as there is a daemon."
  (ignore-error memoryd-failure
    (memoryd--connect)))

(defun memoryd-disconnect ()
  "End the connection to the daemon until the next command."
  (interactive)
  (memoryd--stop-retrying)
  (let ((connection memoryd--connection))
    (setq memoryd--connection nil)
    (when (and connection (jsonrpc-running-p connection))
      (delete-process memoryd--process)
      (run-hooks 'memoryd-disconnected-hook))))


;;; Requests and events

(defun memoryd--notified (_connection method params)
  "Run `memoryd-event-functions' if METHOD is event, with PARAMS."
  (when (and (eq method 'event) (stringp (plist-get params :kind)))
    (run-at-time 0 nil #'run-hook-with-args 'memoryd-event-functions params)))

(defun memoryd--send (method params success failure)
  "Send METHOD with PARAMS over the connection there is.
Later, call SUCCESS with the result, or FAILURE with a message and a hint."
  (let* ((later (lambda (function &rest arguments)
                  (apply #'run-at-time 0 nil function arguments)))
         (broken (lambda ()
                   (funcall later failure "the connection to the daemon broke"
                            memoryd--doctor-hint))))
    (condition-case nil
        (jsonrpc-async-request
         memoryd--connection (intern (concat ":" method)) params
         :timeout memoryd--answer-seconds
         :success-fn (lambda (result) (funcall later success result))
         :error-fn (lambda (problem)
                     (if (eql (plist-get problem :code) -1)
                         (funcall broken)
                       (funcall later failure (plist-get problem :message)
                                (or (plist-get (plist-get problem :data) :hint) ""))))
         :timeout-fn (lambda ()
                       (funcall later failure "the daemon did not answer in time"
                                memoryd--doctor-hint)))
      ;; The other side has closed it, which Emacs notices only now.
      (error (funcall broken)))))

(defun memoryd-report (message hint)
  "Say in one line what went wrong: MESSAGE, and what to type: HINT."
  (let ((hint (string-replace "add --anyway" "use C-u C-u M-x memoryd-remember" hint)))
    (message "memoryd: %s"
             (replace-regexp-in-string
              "[[:space:][:cntrl:]]+" " "
              (if (string-empty-p hint) message (format "%s; %s" message hint))))))

(defun memoryd-request (method params success)
  "Ask the daemon METHOD with PARAMS, a plist, and return at once.
SUCCESS is called later with the result, a plist.  A failure is
reported in the echo area with what to type next."
  (when (cl-some (lambda (name) (not (member (getenv name) '(nil ""))))
                 memoryd--agent-variables)
    (setq params (append params '(:by "agent"))))
  (condition-case failure
      (progn
        (memoryd--connect)
        (memoryd--send method params success #'memoryd-report))
    (memoryd-failure (apply #'memoryd-report (cdr failure)))))

(defun memoryd-directory ()
  "Return the folder whose project this buffer is about."
  (when (file-remote-p default-directory)
    (user-error "Memoryd knows only folders of this machine"))
  (expand-file-name default-directory))

(provide 'memoryd-connection)
;;; memoryd-connection.el ends here
