#!/bin/sh
# Writes the generated parts of the documents anew, from what the program says today. A test fails where they are behind.
set -eu
cd "$(dirname "$0")/.."
HUSTINGS_WRITE_DOCUMENTS=1 cargo test --quiet --locked -p hustings --test documents
git diff --stat -- '*.md'
