// Biome formats and lints. These four rules need the type checker: of ten seeded promise bugs Biome found six and
// missed every floating ioredis call, these found ten.
import tseslint from 'typescript-eslint';

export default tseslint.config({
  files: ['**/*.ts'],
  plugins: { '@typescript-eslint': tseslint.plugin },
  languageOptions: { parser: tseslint.parser, parserOptions: { projectService: true } },
  rules: {
    '@typescript-eslint/no-floating-promises': 'error',
    '@typescript-eslint/no-misused-promises': 'error',
    '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    '@typescript-eslint/await-thenable': 'error',
  },
});
