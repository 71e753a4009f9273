import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runChild } from '../../scripts/launcher/run-child.cjs'
import { type FakeModel, type Responder, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type Block, root } from './pages.ts'

/** The models for pages that need a specific reply. */
const models: Record<string, Responder> = {
  'docs/client-tools.md': ({ toolResults, tools }) => {
    if (toolResults.length > 0) return { text: 'The bell rang.' }
    return tools.includes('ring_bell') ? { toolCalls: [{ name: 'ring_bell', input: { times: 1 } }] } : undefined
  },
}

export function isCommand({ language, skipped }: Block): boolean {
  return language === 'sh' && skipped === null
}

/** The tracked and new files of the working tree, committed; what an installation fetches is linked from here. */
export async function makeCleanCopy(): Promise<string> {
  const target = join(mkdtempSync(join(tmpdir(), 'familiar-docs-')), 'familiar')
  const listed = await command('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], root)
  for (const path of listed.split('\0').filter((name) => name !== '')) {
    mkdirSync(dirname(join(target, path)), { recursive: true })
    cpSync(join(root, path), join(target, path))
  }
  const identity = ['-c', 'user.name=docs', '-c', 'user.email=docs@example.org']
  await command('git', ['init', '--quiet'], target)
  await command('git', ['add', '--all'], target)
  await command('git', [...identity, 'commit', '--quiet', '--message', 'docs: copy'], target)
  linkInstallation(target)
  return target
}

function linkInstallation(target: string): void {
  for (const modules of ['node_modules', 'web/node_modules'])
    if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(target, modules))
  mkdirSync(join(target, '.runtime'))
  for (const entry of readdirSync(join(root, '.runtime'), { withFileTypes: true })) {
    const [from, to] = [join(root, '.runtime', entry.name), join(target, '.runtime', entry.name)]
    // The launcher makes its own record of the packages, and may build the page again.
    if (entry.name === 'dependencies.json') continue
    if (entry.isDirectory() && entry.name !== 'page') symlinkSync(from, to)
    else cpSync(from, to, { recursive: true })
  }
}

async function command(file: string, args: string[], cwd: string): Promise<string> {
  const { code, output } = await runChild(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  if (code !== 0) throw new Error(`${file} ${args.join(' ')}: ${output}`)
  return output
}

/** Runs the shell blocks of a page in one shell, and compares what they print with the text blocks below them. */
export async function runPage(page: string, blocks: Block[], copy: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-page-'))
  const port = await freePort()
  const respond = models[page]
  const fake = respond ? await startFakeModel({ script: respond }) : null
  try {
    const shell = blocks.filter(isCommand)
    writeFileSync(join(directory, 'page.sh'), scriptOf(shell, port))
    const { code, stdout, stderr } = await runShell(directory, environmentOf({ directory, port, fake, copy }))
    const outputs = partsOf(stdout)
    if (code !== 0) {
      const failed = shell.findLast(({ line }) => outputs.has(line))
      const said = [outputs, partsOf(stderr)].map((parts) => parts.get(failed?.line ?? 0)?.trim())
      throw new Error(`${page}:${failed?.line}: exit code ${code}\n${failed?.text}\n${said.join('\n')}`)
    }
    for (const [index, block] of blocks.entries()) {
      const before = blocks[index - 1]
      if (block.language !== 'text' || block.skipped !== null || !before || !isCommand(before)) continue
      const printed = outputs.get(before.line) ?? ''
      if (!outputPattern(block.text).test(printed.trim()))
        throw new Error(`${page}:${block.line}: expected\n${block.text}\nand this was printed:\n${printed}`)
    }
  } finally {
    await fake?.close()
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

/** A shell that stops at the first failure. The place of each block is printed before it runs. */
function scriptOf(blocks: Block[], port: number): string {
  const ready = `for try in $(seq 300); do curl -sf http://127.0.0.1:${port}/readyz > /dev/null && break; sleep 0.2; done`
  const isStarted = blocks.some(({ isBackground }) => isBackground)
  const lines = ['set -eu', "trap 'kill $(jobs -p) 2> /dev/null || true; wait || true' EXIT"]
  if (!isStarted && blocks.some(({ text }) => /familiar|8100/.test(text)))
    lines.push('familiar serve > ~/serve.log 2>&1 < /dev/null &', ready)
  for (const { line, text, isBackground } of blocks) {
    lines.push(`printf '\\n@@%s\\n' ${line}`, `printf '\\n@@%s\\n' ${line} >&2`)
    const commands = text.replaceAll('127.0.0.1:8100', `127.0.0.1:${port}`).trimEnd()
    if (!isBackground) lines.push(commands)
    else lines.push(commands.replace(/(.*)$/, '$1 > ~/serve.log 2>&1 < /dev/null &'), ready)
  }
  return `${lines.join('\n')}\n`
}

/** The output of each block, by its line in the page. */
function partsOf(text: string): Map<number, string> {
  const parts = text.split(/^@@(\d+)\n/m)
  return new Map(parts.flatMap((part, index) => (index % 2 === 1 ? [[Number(part), parts[index + 1] ?? '']] : [])))
}

function outputPattern(text: string): RegExp {
  const lines = text.trim().split('\n')
  const patterns = lines.map((line) =>
    line
      .trimEnd()
      .split('…')
      .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('.*'),
  )
  return new RegExp(`^${patterns.join('\\s*\\n')}`)
}

async function runShell(
  directory: string,
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn('bash', ['page.sh'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const tooLong = setTimeout(() => endGroup(child.pid), 160_000)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(tooLong)
  // `npm start` leaves the daemon behind when it is killed.
  endGroup(child.pid)
  return { code, stdout, stderr }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of it runs any more.
  }
}

/** A user's own environment, with nothing of this machine but its programs. */
function environmentOf(page: {
  directory: string
  port: number
  fake: FakeModel | null
  copy: string
}): Record<string, string> {
  const { directory, port, fake, copy } = page
  const home = join(directory, '.familiar')
  if (fake) {
    mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
    chmodSync(home, 0o700)
    const provider = `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`
    writeFileSync(join(home, 'providers.d', 'fake.toml'), provider, { mode: 0o600 })
  }
  // A clone gets what an installation would fetch from the copy.
  const hooks = join(directory, '.git-template/hooks')
  mkdirSync(hooks, { recursive: true })
  const link = `#!/bin/sh\ncp -RP ${copy}/node_modules ${copy}/.runtime .\ncp -RP ${copy}/web/node_modules web/ || true\n`
  writeFileSync(join(hooks, 'post-checkout'), link, { mode: 0o755 })
  return {
    PATH: `${join(copy, 'bin')}:${process.env.PATH ?? ''}`,
    HOME: directory,
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    FAMILIAR_PORT: String(port),
    FAMILIAR_EMBEDDING: 'off',
    FAKE_KEY: 'key-of-the-test',
    FAMILIAR_MODEL: fake ? 'fake/main' : 'offline/offline',
    GIT_TEMPLATE_DIR: join(directory, '.git-template'),
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.${copy}.insteadOf`,
    GIT_CONFIG_VALUE_0: 'https://github.com/OWNER/familiar',
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
