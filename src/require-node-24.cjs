// Plain JavaScript on purpose: it must still parse where the rest, which is TypeScript, does not.
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `toncache needs Node 24 or newer and this is ${process.version}: run "npm ci" here without --ignore-scripts and --omit=dev (it brings Node 24 for the npm commands), or install Node 24.`,
  );
  process.exit(78);
}
