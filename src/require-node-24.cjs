// Plain JavaScript on purpose: it must still parse where the rest, which is TypeScript, does not.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`toncache needs Node 24 or newer and this is ${process.version}: ${remedy()}install Node 24.`);
  process.exit(78);
}

function remedy() {
  // Compiled files lie in `dist`: an installed package has no Node of its own.
  if (!/[\\/]src$/.test(__dirname)) return '';
  if (existsSync(join(__dirname, '../node_modules/node/bin/node'))) {
    return 'use "npm run toncache -- <command>", which runs the Node 24 that "npm ci" installed here, or ';
  }
  return 'run "npm ci" here without --ignore-scripts and --omit=dev (it brings Node 24 for the npm commands), or ';
}
