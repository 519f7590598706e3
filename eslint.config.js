import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import importX, { createNodeResolver } from 'eslint-plugin-import-x';
import { readdirSync } from 'node:fs';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';
import { bannedWords } from './eslint/banned-words.ts';
import wordList from './docs/banned-words.json' with { type: 'json' };

/** Every process is a zone: it imports no other process. */
const processes = [
  'ingest-gateway',
  'pipeline/normalise',
  'pipeline/metering',
  'pipeline/relays',
  'pipeline/planner',
  'pipeline/dispatcher',
  'projections/events',
  'projections/profiles',
  'projections/identities',
  'projections/catalogue',
  'projections/quality',
  'projections/retention',
  'projections/messages',
  'management-api',
  'control-plane',
];
/** Shared by processes of the pipeline and by operators' commands. */
const pipelineLibraries = ['pipeline/dead-letters', 'pipeline/replay'];

/** From low to high: a layer imports itself and the layers before it. */
const layers = [
  ['schemas'],
  ['events'],
  ['platform'],
  ['ingest', 'audiences'],
  ['messaging'],
  ['account-api'],
  ['panel'],
  pipelineLibraries,
  processes,
  ['ops'],
  ['deploy'],
];
const above = (at) => [...layers.slice(at + 1).flat(), 'test', 'bench'];

const zone = (target, from, message) => ({
  target,
  from: from.map((folder) => `./${folder}`),
  message,
});

/** Inside the panel: shared, features, app; a feature imports no other feature. */
const panelZones = [
  zone(
    './panel/src/shared',
    ['panel/src/features', 'panel/src/app'],
    'the panel imports one way: shared, features, app',
  ),
  zone(
    './panel/src/features',
    ['panel/src/app'],
    'the panel imports one way: shared, features, app',
  ),
  ...readdirSync(`${import.meta.dirname}/panel/src/features`).map((feature) => ({
    target: `./panel/src/features/${feature}`,
    from: './panel/src/features',
    except: [`./${feature}`],
    message: 'features of the panel do not import each other: move what both need to shared',
  })),
];

const zones = [
  ...layers.flatMap((layer, at) =>
    layer.map((folder) =>
      zone(
        `./${folder}`,
        above(at),
        'imports go one way: schemas, events, platform, ingest and audiences, messaging, account-api, panel, services, ops, deploy',
      ),
    ),
  ),
  ...processes.map((folder) =>
    zone(
      `./${folder}`,
      processes.filter((other) => other !== folder),
      'processes meet only through topics, tables and schemas',
    ),
  ),
  ...panelZones,
  zone(
    ['./cli/!(main|commands).ts', './cli/*/**'],
    [...processes, 'ops', 'deploy', 'test', 'bench'],
    'the command framework imports no command: only cli/main.ts and cli/commands.ts do',
  ),
  zone('./sdk', [...layers.flat(), 'cli', 'test', 'bench'], 'SDKs import nothing of the project'),
  zone('./sdk/browser', ['sdk/node'], 'SDKs meet only in sdk/shared'),
  zone('./sdk/node', ['sdk/browser'], 'SDKs meet only in sdk/shared'),
  ...layers.flat().map((folder) => zone(`./${folder}`, ['sdk'], 'no service needs an SDK')),
  ...layers
    .flat()
    .map((folder) =>
      zone(
        `./${folder}`,
        ['cli/main.ts', 'cli/commands.ts'],
        'commands are imported by the entry, not the other way round',
      ),
    ),
];

const noBarrel = {
  selector: 'ExportAllDeclaration',
  message: 'no barrel files: import from the file that defines it',
};
const noTesting = {
  selector: 'ImportDeclaration[source.value=/\\u002ftesting\\u002f/]',
  message: 'testing/ holds models and simulators: production code does not import them',
};
const tests = ['**/*.test.ts', '**/testing/**', 'test/**', 'bench/**'];

/** Files that take values and return values, wherever they are. */
const pureNames = ['decide', 'plan', 'evolve', 'compile', 'evaluate'];
const ioModules = [
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
];

export default defineConfig(
  globalIgnores(['node_modules/', '.ravand/', 'coverage/', 'sdk/*/dist/', 'eslint.config.js']),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts', '.tsx', '.js'],
      'import-x/resolver-next': [createNodeResolver({ extensions: ['.ts', '.tsx', '.js'] })],
    },
    rules: {
      'max-len': [
        'error',
        {
          code: 100,
          ignoreUrls: true,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
          ignorePattern: 'eslint-disable',
        },
      ],
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
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
      'no-restricted-syntax': ['error', noBarrel],
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: tests,
    rules: { 'no-restricted-syntax': ['error', noBarrel, noTesting] },
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
      'no-restricted-imports': ['error', { paths: ioModules }],
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: ['eslint/**'],
    plugins: { local: { rules: { 'banned-words': bannedWords } } },
    rules: { 'local/banned-words': ['error', wordList] },
  },
  {
    files: ['panel/src/**/*.{ts,tsx}'],
    plugins: { 'react-hooks': reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(\\.\\./)+(account-api|platform|audiences|messaging|schemas|control-plane)/',
              allowTypeImports: true,
              message:
                'the panel runs in browsers: it imports only types of the server, and code of events/',
            },
            { regex: '^node:', message: 'the panel runs in browsers' },
          ],
        },
      ],
      // Handlers of React answer nothing; a promise in them is started on purpose.
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { attributes: false } },
      ],
    },
  },
  {
    // AssemblyScript: its compiler checks the types, and has numbers of 64 bits
    files: ['**/*.as.ts'],
    extends: [tseslint.configs.disableTypeChecked],
    rules: { 'no-loss-of-precision': 'off' },
  },
  {
    files: ['*.config.ts', '*.config.js', 'panel/*.config.ts', 'sdk/browser/src/index.ts'],
    rules: { 'import-x/no-default-export': 'off' },
  },
);
