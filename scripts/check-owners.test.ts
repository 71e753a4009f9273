import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkOwners } from './check-owners.ts'
import { readSourceFiles } from './source-files.ts'

const root = join(import.meta.dirname, '..')

const findings = (path: string, text: string): string[] => checkOwners(new Map([[path, text]])).findings

describe('checkOwners', () => {
  it.each([
    [`import { readFileSync } from 'node:fs'`, 'src/memory/a.ts', 'src/base/a.ts'],
    [`import { readFile } from 'fs/promises'`, 'src/agent/a.ts', 'src/storage/sqlite/a.ts'],
    [`const fs = await import('node:fs')`, 'src/tools/a.ts', 'src/daemon/a.ts'],
    [`import { spawn } from 'node:child_process'`, 'src/storage/a.ts', 'src/sandbox/a.ts'],
    [`import { fork } from 'node:child_process'`, 'src/memory/a.ts', 'src/memory/embedding/a.ts'],
    [`import { Agent } from 'undici'`, 'src/models/a.ts', 'src/security/network/a.ts'],
    [`import agent from 'undici/lib/dispatcher/agent.js'`, 'src/terminal/a.ts', 'src/security/network/a.ts'],
    ['await globalThis.fetch(address)', 'src/models/a.ts', 'src/security/network/a.ts'],
    ['await globalThis.fetch(address)', 'src/terminal/a.ts', 'src/security/network/a.ts'],
    [`import { connect } from 'node:net'`, 'src/tools/a.ts', 'src/security/network/a.ts'],
    [`import { createServer } from 'node:net'`, 'src/terminal/a.ts', 'src/terminal/serve-daemon.ts'],
    [`import { request } from 'node:http'`, 'src/http/a.ts', 'src/http/server.ts'],
    [`import { request } from 'node:http'`, 'src/sandbox/a.ts', 'src/sandbox/container/run-container.ts'],
    [`import { request } from 'https'`, 'src/models/a.ts', 'src/security/network/a.ts'],
    [`const { connect } = await import('node:tls')`, 'src/daemon/a.ts', 'src/security/network/a.ts'],
    [`import { connect } from 'node:http2'`, 'src/terminal/a.ts', 'src/security/network/a.ts'],
    [`import { createSocket } from 'node:dgram'`, 'src/base/a.ts', 'src/security/network/a.ts'],
    [`import { lookup } from 'node:dns/promises'`, 'src/tools/a.ts', 'src/security/network/a.ts'],
    [`process.getBuiltinModule('net')`, 'src/memory/a.ts', 'src/security/network/a.ts'],
    [`createRequire(here)('node:https')`, 'src/memory/a.ts', 'src/security/network/a.ts'],
    [`const name = "node:dgram"`, 'src/memory/a.ts', 'src/security/network/a.ts'],
    [`import { createOpenAI } from '@ai-sdk/openai'`, 'src/agent/a.ts', 'src/models/providers.ts'],
    [`import { chromium } from 'playwright-core'`, 'src/tools/cards/a.ts', 'src/tools/builtin/browsers.ts'],
    [`import { Client } from '@modelcontextprotocol/client'`, 'src/tools/a.ts', 'src/tools/mcp/a.ts'],
    ['const socket = new WebSocket(address)', 'src/tools/a.ts', 'src/tools/a.test.ts'],
    ['const events = new EventSource(address)', 'src/security/network/a.ts', 'test/a.ts'],
    ['const request = new XMLHttpRequest()', 'src/channels/a.ts', 'scripts/a.ts'],
    ['page.innerHTML = text', 'src/tools/cards/a.ts', 'src/tools/cards/a.test.ts'],
    ['page.insertAdjacentHTML(text)', 'web/src/a.tsx', 'test/a.ts'],
  ])('finds `%s` in %s but not in %s', (text, foreign, owner) => {
    expect(findings(foreign, text)).toHaveLength(1)
    expect(findings(owner, text)).toEqual([])
  })

  it('lets anyone name the type of fetch', () => {
    expect(findings('src/models/a.ts', 'fetch: typeof globalThis.fetch')).toEqual([])
  })

  it('lets anyone name a channel or a type of a package', () => {
    expect(findings('src/models/a.ts', `import type { A } from '@ai-sdk/provider'\nconst channel = 'http'`)).toEqual([])
  })

  it('SEC-8 finds no other way out of this program', () => {
    const files = readSourceFiles(root, ['{src,web}/**/*.{ts,tsx,html}'])
    expect(checkOwners(files).findings).toEqual([])
    expect(files.size).toBeGreaterThan(300)
  })
})

describe('biome.json', () => {
  /** The names of the rules that complain about a text at a path, under this repository's settings. */
  const complaints = (path: string, text: string): string[] => {
    const folder = mkdtempSync(join(tmpdir(), 'familiar-lint-'))
    cpSync(join(root, 'biome.json'), join(folder, 'biome.json'))
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
    const args = [biome, 'lint', '--vcs-enabled=false', '--error-on-warnings', '--colors=off', path]
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    rmSync(folder, { recursive: true, force: true })
    const rules = [...(stdout + stderr).matchAll(/lint\/\w+\/(\w+)/g)].map((match) => match[1] ?? '')
    expect(status === 0).toBe(rules.length === 0)
    return [...new Set(rules)]
  }

  it.each([
    ['noRestrictedGlobals', 'export const get = () => fetch\n', 'src/models/a.ts', 'src/security/network/a.ts'],
    ['noRestrictedGlobals', 'export const get = () => fetch\n', 'src/tools/a.ts', 'src/tools/a.test.ts'],
    ['noProcessEnv', 'export const home = process.env.HOME\n', 'src/base/a.ts', 'src/daemon/a.ts'],
    ['noProcessEnv', 'export const { HOME } = process.env\n', 'src/base/a.ts', 'src/terminal/a.ts'],
    ['noDefaultExport', 'export default 1\n', 'src/base/a.ts', 'vitest.config.ts'],
    ['noExplicitAny', 'export const a: any = 1\n', 'src/base/a.ts', undefined],
    ['noFloatingPromises', 'async function f() {}\nexport const g = () => {\n  f()\n}\n', 'src/base/a.ts', undefined],
    ['noBarrelFile', `export * from './b.ts'\n`, 'src/base/a.ts', 'src/index.ts'],
    ['useFilenamingConvention', 'export const a = 1\n', 'src/base/Some_File.ts', 'src/base/some-file.ts'],
  ])('%s finds `%s` in %s but not in %s', (rule, text, foreign, owner) => {
    expect(complaints(foreign, text)).toEqual([rule])
    if (owner) expect(complaints(owner, text)).toEqual([])
  })
})
