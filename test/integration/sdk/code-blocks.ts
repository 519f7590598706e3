import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The blocks of a page in docs/ in one language. */
export function codeBlocks(page: string, language: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../docs', page), 'utf8');
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...text.matchAll(pattern)].map(([, code = '']) => code);
}
