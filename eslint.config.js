// Biome formats and lints. The first four rules need the type checker: of ten seeded promise bugs Biome found six and
// missed every floating ioredis call, these found ten.
import tseslint from 'typescript-eslint';

/** Ways to read a clock, or to get something by chance. */
const CLOCKS_AND_CHANCE = [
  'MemberExpression[object.name=/^(Date|performance)$/][property.name=/^(now|timeOrigin)$/]',
  'MemberExpression[object.name="Math"][property.name="random"]',
  'MemberExpression[property.name=/^(hrtime|randomUUID|randomBytes|randomInt|getRandomValues)$/]',
  ':matches(NewExpression, CallExpression)[callee.name="Date"][arguments.length=0]',
  'VariableDeclarator[id.type="ObjectPattern"][init.name=/^(Date|performance|Math|crypto)$/]',
  'ImportSpecifier[imported.name=/^(hrtime|performance|random(UUID|Bytes|Int|Fill|FillSync)|getRandomValues|webcrypto)$/]',
];

export default tseslint.config(
  {
    files: ['**/*.ts'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: { parser: tseslint.parser, parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/await-thenable': 'error',
    },
  },
  {
    // The composition root reads them for an instance. The commands and tools are programs of their own.
    files: ['src/**/*.ts'],
    ignores: ['src/app.ts', 'src/compose/**', 'src/cli/**', 'src/tools/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...CLOCKS_AND_CHANCE.map((selector) => ({
          selector,
          message:
            'Time and chance are injected by the composition root. Where that is not worth it, disable this with a reason.',
        })),
      ],
    },
  },
);
