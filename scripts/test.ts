import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild } from './launcher/run-child.cjs'
import { installTestPackages } from './test-packages.ts'
import { summarise } from './test-summary.ts'

const root = join(import.meta.dirname, '..')
const filters = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'familiar-test-'))

try {
  process.exitCode = await runAll()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function runAll(): Promise<number> {
  await installTestPackages()
  // A run of named tests skips the checks.
  const checks = filters.length > 0 ? 0 : await run('scripts/check.ts', [])
  if (checks > 128) return checks
  if (filters.length === 0) process.env.FAMILIAR_TEST_ENGINE ??= 'both'
  const results = join(folder, 'results.json')
  const reporters = ['default', 'json', './scripts/test-summary.ts'].map((name) => `--reporter=${name}`)
  // A machine under load must not reject a change; tests that need the second try are named at the end.
  const options = [...reporters, `--outputFile.json=${results}`, ...(filters.length > 0 ? [] : ['--retry=1'])]
  const tests = await run('node_modules/vitest/vitest.mjs', ['run', ...options, ...filters])
  if (tests > 128) return tests
  if (checks !== 0) console.log('✗ npm run check failed, see above')
  console.log(existsSync(results) ? summarise(readFileSync(results, 'utf8')) : '0 passed, 0 failed, 0 skipped')
  return tests || checks
}

/** The exit code; over 128 when a signal stopped it, as a shell would say it. */
async function run(file: string, args: string[]): Promise<number> {
  const result = await runChild(process.execPath, [join(root, file), ...args], { cwd: root, stdio: 'inherit' })
  const signal = result.received ?? result.signal
  return signal ? 128 + constants.signals[signal] : (result.code ?? 1)
}
