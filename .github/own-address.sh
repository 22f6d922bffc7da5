#!/usr/bin/env bash
# Writes what release.env says into what is released: the package and the chart name where they came from, image names lead
# to the registry, and each alert has a link to its section in the docs.
set -euo pipefail
cd "$(dirname "$0")/.."
source .github/release.env
npm pkg set "homepage=$REPOSITORY#readme" "repository.type=git" "repository.url=git+$REPOSITORY.git" "bugs.url=$REPOSITORY/issues"
printf 'home: %s\n' "$REPOSITORY" >> config/deploy/helm/Chart.yaml
sed -i "s#^ARG SOURCE=.*#ARG SOURCE=$REPOSITORY#" Dockerfile
version=$(sed -n 's/^version: //p' config/deploy/helm/Chart.yaml)
sed -i "s#^  repository: toncache\$#  repository: $IMAGE#" config/deploy/helm/values.yaml
sed -i "s#image: toncache:#image: $IMAGE:#" config/deploy/kubernetes/*.yaml
sed -i "s#TONCACHE_IMAGE:-toncache}#TONCACHE_IMAGE:-$IMAGE:$version}#" config/deploy/toncenter.override.yaml
awk -v docs="$DOCS" '
  /^      # Steps: / { section = $3 }
  /^      - alert: / && !section { section = tolower($3) }
  { print }
  /^          description: / { print "          runbook_url: " docs "/incidents.md#" section; section = "" }
' config/prometheus/alerts.yml > config/prometheus/alerts.yml.new
mv config/prometheus/alerts.yml.new config/prometheus/alerts.yml
