#!/usr/bin/env bash
# Writes the address of the repository that this workflow runs in, and of its images, in place of the placeholder
# registry.example: what is released names where it came from.
set -euo pipefail
cd "$(dirname "$0")/.."
sed -i \
  -e "s#https://registry.example/toncache#$GITHUB_SERVER_URL/$GITHUB_REPOSITORY#" \
  -e "s#registry.example/toncache#ghcr.io/${GITHUB_REPOSITORY,,}#" \
  package.json Dockerfile config/deploy/*.yaml config/deploy/helm/*.yaml config/deploy/kubernetes/*.yaml
