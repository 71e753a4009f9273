import { join } from 'node:path'
import { checkLayers } from './check-layers.ts'
import { checkOwners } from './check-owners.ts'
import { checkSizes } from './check-sizes.ts'
import { checkSpec } from './check-spec.ts'
import { checkWords } from './check-words.ts'
import { checkPages } from './docs.ts'
import { runChild } from './launcher/run-child.cjs'
import { type Report, readSourceFiles } from './source-files.ts'

const root = join(import.meta.dirname, '..')

const checks: { name: string; run: () => Report | Promise<Report> }[] = [
  {
    name: 'format and lint',
    run: () => runTool('@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '--max-diagnostics=200']),
  },
  { name: 'types', run: () => runTool('typescript/bin/tsc', ['-p', '.', '--pretty', 'false']) },
  {
    name: 'types of the page',
    run: () => runTool('typescript/bin/tsc', ['-p', 'web', '--noEmit', '--pretty', 'false']),
  },
  { name: 'layers and cycles', run: () => checkLayers(read('{src,scripts,bench,test,examples}/**/*.ts')) },
  { name: 'file sizes', run: () => checkSizes(read('{src,web/src}/**/*.{ts,tsx}')) },
  { name: 'unused code', run: () => runTool('knip/bin/knip.js', ['--no-progress']) },
  { name: 'rules without a test', run: () => checkSpec(read('docs/spec/*.md', '{src,test,web/src}/**/*.test.ts')) },
  { name: 'generated pages', run: () => checkPages() },
  { name: 'modules with an owner', run: () => checkOwners(read('{src,web}/**/*.{ts,tsx,html}')) },
  {
    name: 'plain words',
    run: () =>
      checkWords(
        read(
          '{*,{src,scripts,test,bench,examples}/**/*}.{ts,cjs}',
          'web/src/**/*.{ts,tsx}',
          '{*,{docs,examples,src}/**/*}.md',
        ),
      ),
  },
]

let stopped = false

for (const { name, run } of checks) {
  if (stopped) break
  const start = performance.now()
  const { findings, note } = await run()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${findings.length === 0 ? '✓' : '✗'} ${name} ${note ? `(${note}) ` : ''}${seconds} s`)
  for (const finding of findings) console.log(finding.replace(/^/gm, '    '))
  if (findings.length > 0) process.exitCode = 1
}

function read(...patterns: string[]) {
  return readSourceFiles(root, patterns)
}

async function runTool(file: string, args: string[]): Promise<Report> {
  const tool = join(root, 'node_modules', file)
  const result = await runChild(process.execPath, [tool, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  stopped = result.received !== null || result.signal !== null
  if (stopped) return { findings: ['stopped'] }
  return { findings: result.code === 0 ? [] : [result.output.trim() || `exit code ${result.code}`] }
}
