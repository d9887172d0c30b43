"""Forms of secrets that were written before the rules they met, and looked at once before a change.

Of the 62 in `UNSEEN`, half of them variants of known ones, 12 passed at the first look; of the 37
in `STRANGE`, all of them new, 23. After the rules were changed 12 of the 33 in `LATER` passed at
the first look. Expect about a third of the forms that nobody tried to pass.
"""

import base64

from tests.support.secret_forms import FormTable, base32, hex64, password, pin, token, word
from tests.support.secret_samples import ALNUM, URL64, Draw


def dotted(d: Draw) -> str:
    return f"{d.of(URL64, 24)}.{d.of(URL64, 6)}.{d.of(URL64, 27)}"


def base64_of_32(d: Draw) -> str:
    return base64.b64encode(d.of(ALNUM, 32).encode()).decode()


UNSEEN: FormTable = (
    (
        password,
        (
            'Sys.setenv(PGPASSWORD = "@@")',
            "smbclient //nas/share -U backup%@@",
            "sshpass -p @@ ssh deploy@build7",
            "machine git.example.org login kim password @@",
            "db.example.org:5432:shop:kim:@@",
            "mysql> CREATE USER kim IDENTIFIED BY '@@';",
            "ALTER ROLE kim WITH LOGIN PASSWORD '@@';",
            "net use Z: \\\\nas\\share @@ /user:kim",
            "openssl pkcs12 -in bundle.p12 -passin pass:@@ -nodes",
            "keytool -list -keystore k.jks -storepass @@",
            "curl -u kim:@@ https://api.example.org/v1/me",
            "wget --http-user=kim --http-password=@@ https://example.org/x",
            "redis-cli -h cache -a @@ ping",
            "mongosh --username kim --password @@ shop",
            "zip -P @@ out.zip notes.txt",
            "7z x secret.7z -p@@",
            "gpg --batch --passphrase @@ -d file.gpg",
            'echo "@@" | sudo -S apt update',
            "echo 'kim:@@' | chpasswd",
            "ansible_become_pass=@@",
            "ansible_ssh_pass: @@",
            "spring.datasource.password=@@",
            '<property name="hibernate.connection.password">@@</property>',
            '<add name="Main" connectionString="Server=db;User Id=sa;Pwd=@@;" />',
            "jdbc:oracle:thin:kim/@@@//db:1521/shop",
            "ftp://kim:@@@files.example.org/in",
            "amqp://guest:@@@rabbit:5672/vhost",
            "the wifi key in the office is @@",
            "you can log in as admin with @@",
            "credentials: kim / @@",
            "login kim, pw @@",
            "Benutzer: kim, Kennwort: @@",
            "le mot de passe du serveur est @@",
            "la contraseña es @@",
        ),
    ),
    (
        word,
        (
            "POSTGRES_PASSWORD: @@",
            "  - MYSQL_ROOT_PASSWORD=@@",
            "set password=@@ && call run.bat",
            '$env:DB_PASS = "@@"',
            "ENV ADMIN_PASSWORD @@",
            "requirepass @@",
            "wpa_passphrase=@@",
            'psk="@@"',
            "bindpw @@",
            "the passphrase for the vault is @@",
            "password is still @@ on the test box",
        ),
    ),
    (
        token,
        (
            "X-Api-Key: @@",
            "Authorization: token @@",
            "//registry.example.org/:_authToken=@@",
            "https://hooks.example.org/services/T01/B02/@@",
            "https://api.example.org/v1/items?access_token=@@&page=2",
            "client_secret: @@",
            "export CLOUD_KEY=@@",
            '"refreshToken": "@@"',
            "Cookie: session=@@; theme=dark",
        ),
    ),
    (dotted, ("bot token @@",)),
    (
        hex64,
        (
            "signing key = 0x@@",
            "master.key:\n@@",
        ),
    ),
    (base32, ("otpauth://totp/Shop:kim?secret=@@&issuer=Shop",)),
    (
        pin,
        (
            "door code is @@",
            "CVV @@ exp 11/29",
        ),
    ),
    (
        base64_of_32,
        (
            "AccountName=shop;AccountKey=@@;EndpointSuffix=core.example.net",
            "PrivateKey = @@",
        ),
    ),
)

STRANGE: FormTable = (
    (
        password,
        (
            "rclone config create nas sftp user kim pass @@",
            "xfreerdp /v:host /u:kim /p:@@",
            "sqlplus kim/@@@shop",
            'sqlcmd -S db -U sa -P @@ -Q "select 1"',
            "snmpwalk -v3 -u kim -A @@ -X other host",
            "ipmitool -H bmc -U ADMIN -P @@ power status",
            "mount -t cifs //nas/x /mnt -o username=kim,password=@@",
            "nmcli dev wifi connect Office password @@",
            "svn co --username kim --password @@ https://svn.example.org/x",
            "cryptsetup: echo -n @@ | cryptsetup open /dev/sdb1 x -",
            'New-Object PSCredential("kim", (ConvertTo-SecureString "@@" -AsPlainText -Force))',
            'Given I log in as "kim" with "@@"',
            'page.fill("#password", "@@")',
            'driver.find_element(By.ID, "pass").send_keys("@@")',
            "await page.type('input[type=password]', '@@')",
            'expect "assword:"\nsend "@@\\r"',
            "kim\t@@\tadmin\nusername\tpassword\trole",
            "username,password\nkim,@@",
            'smtp = SMTP("mail"); smtp.login("kim@example.org", "@@")',
            "Hash-free login: kim@example.org:@@",
            "type @@ when sudo asks",
            "when it prompts for a password enter @@",
            "the key to the safe is @@",
        ),
    ),
    (
        word,
        (
            "setx DB_PASSWORD @@",
            'password := "@@"',
            "define('DB_PASSWORD', '@@');",
            "$config['db']['pass'] = '@@';",
            ':password => "@@"',
            '(setq smtp-password "@@")',
            'config :shop, Shop.Repo, password: "@@"',
            'data "password" { value = "@@" }',
            "PASSWORD\n@@",
        ),
    ),
    (
        token,
        (
            "heroku config:set STRIPE_LIVE=@@",
            "kubectl --token @@ get pods",
            "gh secret set DEPLOY --body @@",
            "vault write auth/x token=@@",
            "Proxy-Authorization: Bearer @@",
        ),
    ),
)

LATER: FormTable = (
    (
        password,
        (
            "INSERT INTO users (name, password) VALUES ('kim', '@@');",
            "UPDATE users SET password = '@@' WHERE name = 'kim';",
            "plink -ssh kim@host -pw @@ uptime",
            "rdesktop -u kim -p @@ host",
            "lftp -u kim,@@ sftp://host",
            "expect -c 'spawn ssh kim@host; expect assword; send \"@@\\r\"'",
            "az login -u kim@example.org -p @@",
            "virsh set-user-password vm root @@",
            "usermod --password @@ kim",
            "Password (for kim): @@",
            "Username for 'https://x.example': kim\nPassword for 'https://kim@x.example': @@",
            "enter pass phrase for server.key: @@",
            "first login uses @@, change it afterwards",
            "initial admin credentials were printed: admin @@",
            "Kim's login: kim, and the password: it's @@",
            "try @@ for the vpn",
            "sudo pw = @@",
            "root pw → @@",
            "Passwort lautet: @@",
        ),
    ),
    (
        word,
        (
            "mysql_native_password by '@@'",
            "PGPASSWORD=@@ psql -h db",
            "admin_password => '@@',",
            "Environment=DB_PASSWORD=@@",
            "env:\n  - name: REDIS_PASSWORD\n    value: @@",
            '{"key": "smtp_password", "value": "@@"}',
            '<password type="plain">@@</password>',
            'username="kim" password="@@" /',
        ),
    ),
    (
        token,
        (
            "gh auth login --with-token <<< @@",
            "npm config set //registry.example.org/:_authToken @@",
            "?api_key=@@",
            "Ocp-Apim-Subscription-Key: @@",
            "private_token => @@",
            "PRIVATE-TOKEN: @@",
        ),
    ),
)
