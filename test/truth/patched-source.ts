import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A replacement of one place in the source. */
export interface Patch {
  /** The path below `src`. */
  readonly file: string;
  /** It must occur exactly once. */
  readonly from: string;
  readonly to: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A copy of `src` in a temporary folder, with one place replaced. */
export class PatchedSource implements AsyncDisposable {
  /** The folder that contains it, as a URL that ends in a slash. */
  readonly root: URL;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.root = pathToFileURL(`${folder}/`);
  }

  /** Rejects if the place occurs not at all or twice: then the patch has to be adapted to the source. */
  static async make({ file, from, to }: Patch): Promise<PatchedSource> {
    const folder = await mkdtemp(join(tmpdir(), 'toncache-patched-'));
    const copy = new PatchedSource(folder);
    await cp(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
    for (const shared of ['node_modules', 'docs']) await symlink(join(ROOT, shared), join(folder, shared));
    const patched = join(folder, 'src', file);
    const [before, after, ...more] = (await readFile(patched, 'utf8')).split(from);
    if (before === undefined || after === undefined || more.length > 0) {
      await copy[Symbol.asyncDispose]();
      throw new Error(`src/${file} must hold this exactly once: ${from}`);
    }
    await writeFile(patched, before + to + after);
    return copy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
