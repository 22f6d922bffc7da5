#!/usr/bin/env bash
# Writes the address of the repository that this workflow runs in, and of its images, in place of the placeholders: what is
# released names where it came from, and the links of its alerts lead to its docs.
set -euo pipefail
cd "$(dirname "$0")/.."
repository="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"
sed -i "s#https://toncache.example#$repository/blob/${GITHUB_REF_NAME}#" config/prometheus/alerts.yml
sed -i \
  -e "s#https://toncache.example/toncache#$repository#" \
  -e "s#registry.example/toncache#ghcr.io/${GITHUB_REPOSITORY,,}#" \
  package.json Dockerfile config/deploy/*.yaml config/deploy/helm/*.yaml config/deploy/kubernetes/*.yaml
