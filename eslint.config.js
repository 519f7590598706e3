import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

const services = ['ingest-gateway', 'pipeline', 'projections', 'management-api', 'control-plane'];
const tools = ['deploy', 'test', 'bench'];

/** What a folder may not import, by path relative to the checkout: imports go schemas, events <- platform <- services. */
const zones = [
  ...['schemas', 'events'].map((target) => ({
    target: `./${target}`,
    from: ['platform', ...services, ...tools].map((folder) => `./${folder}`),
    message: 'schemas and events are pure and import nothing above them',
  })),
  { target: './schemas', from: ['./events'], message: 'schemas stand alone' },
  {
    target: './platform',
    from: [...services, ...tools].map((folder) => `./${folder}`),
    message: 'platform knows no service',
  },
  ...services.map((target) => ({
    target: `./${target}`,
    from: [...services.filter((service) => service !== target), ...tools].map(
      (folder) => `./${folder}`,
    ),
    message: 'services meet only through topics and schemas',
  })),
];

const pureNames = ['decide', 'plan', 'evolve', 'compile', 'evaluate'];

export default defineConfig(
  globalIgnores(['node_modules/', '.ravand/', 'coverage/', 'eslint.config.js']),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { 'import-x': importX },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-default-export': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportAllDeclaration',
          message: 'no barrel files: import from the file that defines it',
        },
      ],
    },
  },
  {
    files: ['events/**/*.ts', ...pureNames.map((name) => `**/${name}.ts`)],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        'process',
        'fetch',
        'setTimeout',
        'setInterval',
        'performance',
        'crypto',
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'time is an argument of pure code' },
        { object: 'Math', property: 'random', message: 'randomness is an argument of pure code' },
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            'node:fs',
            'node:fs/promises',
            'node:net',
            'node:http',
            'node:child_process',
            'ioredis',
            'pg',
            'kafkajs',
            'node-rdkafka',
            '@clickhouse/client',
            'fastify',
          ],
        },
      ],
    },
  },
  { files: ['*.config.ts', '*.config.js'], rules: { 'import-x/no-default-export': 'off' } },
);
