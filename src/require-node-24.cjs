// Plain JavaScript on purpose: it must still parse where the rest, which is TypeScript, does not.
if (Number(process.versions.node.split('.')[0]) < 24) {
  // Compiled files lie in `dist`: an installed package has no Node of its own.
  const isCheckout = /[\\/]src$/.test(__dirname);
  const help = isCheckout
    ? 'run "npm ci" here without --ignore-scripts and --omit=dev (it brings Node 24 for the npm commands), or install Node 24'
    : 'install Node 24';
  console.error(`toncache needs Node 24 or newer and this is ${process.version}: ${help}.`);
  process.exit(78);
}
