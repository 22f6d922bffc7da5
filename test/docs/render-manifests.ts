import { writeFileSync } from 'node:fs';
import { MANIFESTS, render } from './manifests.ts';

for (const path of Object.keys(MANIFESTS)) writeFileSync(path, render(path));
