/**
 * `node slim-modules.ts NODE_MODULES`: removes what only compiled node-rdkafka (half a
 * gigabyte): its sources, static libraries and intermediate files. The addon and librdkafka stay.
 * Of all packages it removes source maps and declarations of types: nothing that runs reads them.
 */
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const COMPILED_FROM = [
  ...['deps', 'test', 'e2e', 'examples', 'bench', 'ci', 'src', 'cpplint.py'],
  ...['build/Release/obj.target', 'build/Release/.deps', 'build/deps/include', 'build/deps/share'],
  ...['build/deps/*.a', 'build/deps/librdkafka'],
];

const [modules] = process.argv.slice(2);
if (modules === undefined) throw new Error('usage: node slim-modules.ts NODE_MODULES');
const addon = join(modules, 'node-rdkafka');
for (const path of globSync(COMPILED_FROM, { cwd: addon }))
  rmSync(join(addon, path), { recursive: true });
for (const path of globSync('**/*.{map,d.ts,d.mts,d.cts}', { cwd: modules }))
  rmSync(join(modules, path), { recursive: true });
