import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const PHYSICAL = [
  /(?<![\w-])(?:margin|padding|border|scroll-(?:margin|padding))-(?:top|right|bottom|left)\b/,
  /(?<![\w-])border-(?:top|bottom)-(?:left|right)-radius\b/,
  /(?<![\w-])(?:left|right|top|bottom|(?:min-|max-)?(?:width|height))\s*:/,
  /(?<![\w-])(?:text-align|float|clear)\s*:\s*(?:left|right)\b/,
  /\b\d+[sld]?v[wh]\b/,
];

const folder = join(import.meta.dirname, 'src');
const files = globSync('**/*.css', { cwd: folder }).map((name) => ({
  name,
  // The conditions of @media and @container are about the window, whose width has no other name.
  lines: readFileSync(join(folder, name), 'utf8')
    .split('\n')
    .map((line) => (/^\s*@(?:media|container)/.test(line) ? '' : line)),
}));

describe('the styles of the panel', () => {
  it('name no side and no dimension of the screen, so that both directions are one style', () => {
    expect(files.length).toBeGreaterThan(20);
    const found = files.flatMap(({ name, lines }) =>
      lines.flatMap((line, at) =>
        PHYSICAL.some((pattern) => pattern.test(line)) ? [`${name}:${at + 1}: ${line.trim()}`] : [],
      ),
    );
    expect(found).toEqual([]);
  });
});
