/**
 * The code hashes of ordinary wallet contracts, which never become jetton wallets by themselves. An account with another
 * code is asked for its owner, so a missing hash only costs a request, and a wrong one would hide a jetton wallet.
 *
 * v1 to v5: `WalletsHashMap` of the indexer (toncenter/ton-indexer, ton-index-go/index/models). Highload: the published
 * contracts of ton-blockchain (`highload-wallet-code.fc`, `highload-wallet-v2-code.fc`, highload-wallet-contract-v3), as
 * explorers list them.
 */
const ORDINARY_WALLETS: ReadonlySet<string> = new Set([
  'oM/CxIruFqJx8s/AtzgtgXVs7LEBfQd/qqs7tgL2how=', // v1 r1
  '1JAvzJ+tdGmPqONTIgpo2g3PcuMryy657gQhfBfTBiw=', // v1 r2
  'WHzHie/xyE9G7DeX5F/ICaFP9a4k8eDHpqmcydyQYf8=', // v1 r3
  'XJpeaMEI4YchoHxC+ZVr+zmtd+xtYktgxXbsiO7mUyk=', // v2 r1
  '/pUw0yQ4Uwg+8u8LTCkIwKv2+hwx6iQ6rKpb+MfXU/E=', // v2 r2
  'thBBpYp5gLlG6PueGY48kE0keZ/6NldOpCUcQaVm9YE=', // v3 r1
  'hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk=', // v3 r2
  'ZN1UgFUixb6KnbWc6gEFzPDQh4bKeb64y3nogKjXMi0=', // v4 r1
  '/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=', // v4 r2
  '89fKU0k97trCizgZhqhJQDy6w9LFhHea8IEGWvCsS5M=', // v5 beta
  'IINLe3KxEhR+Gy+0V7hOdNGjDwT3N9T2KmaOlVLSty8=', // v5 r1
  '2M27t58sXKpnesRQdwvgNRviHhJQSG3oXMUqoz3RZIQ=', // highload v1 r1
  'Dc7tISadZgE+lbGfu1xVpvAa2tQIN7qo5SHN46AqpGw=', // highload v1 r2
  'lJTRzI7fEvBWcaGpugmSEJbrUIEeGSTsZcPGKfu4CBI=', // highload v2
  'jOtFs81LXMYOquHBO5wJI5Jnf+U2sumy2AG2Lv+TH+E=', // highload v2 r1
  'ID3U81ittJmTEpqpJcrDmRa2ig5PeNJujywraer6Vnk=', // highload v2 r2
  'EayteVWEQJDyg78ji8FEmHH3g+fMCXlAjT9IWUg+hSU=', // highload v3 r1
]);

/** True for the code of an ordinary wallet contract. */
export function isOrdinaryWallet(codeHash: string | undefined): boolean {
  return codeHash !== undefined && ORDINARY_WALLETS.has(codeHash);
}
