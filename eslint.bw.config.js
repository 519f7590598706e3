import { readFileSync } from 'node:fs';
import tseslint from 'typescript-eslint';
import { bannedWords } from './eslint/banned-words.ts';
export default [{ files: ['**/*.ts'], languageOptions: { parser: tseslint.parser }, plugins: { own: { rules: { 'banned-words': bannedWords } } }, linterOptions: {reportUnusedDisableDirectives: 'off'}, rules: { 'own/banned-words': ['error', JSON.parse(readFileSync('docs/banned-words.json','utf8'))] } }];
