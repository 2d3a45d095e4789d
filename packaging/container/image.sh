#!/bin/sh
# Fills a folder with everything that the container needs: the program, the libraries that it is linked to, the
# certificates to verify its provider, and a user.
#
#     image.sh PROGRAM FOLDER
set -eu

program=$1
image=$2

install -D -m 755 "$program" "$image/usr/bin/ameles"
# Each line has a library and its path; the line of the loader has only its path.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    install -D -m 755 "$(readlink -f "$library")" "$image$library"
done
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/ca-certificates.crt"

# User and group numbers that no user of the host has.
echo 'ameles:x:65532:65532:Ameles:/data:/sbin/nologin' > "$image/etc/passwd"
echo 'ameles:x:65532:' > "$image/etc/group"
install -d -m 700 -o 65532 -g 65532 "$image/data"
