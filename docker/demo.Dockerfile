# The demo's and the tests' image: nothing but a Debian and kiro-cli on everybody's PATH, as budgie promises is enough.
FROM budgie-base
COPY kiro-cli/ /usr/local/
