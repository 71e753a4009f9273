import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readBundledText } from '../base/files.ts'
import { sha256 } from '../base/ids.ts'
import { canonicalJson } from '../base/json.ts'
import { type Sandbox, SandboxUnavailable } from '../sandbox/sandbox.ts'
import type { SandboxProxy } from '../security/network/sandbox-proxy.ts'
import { createSharedWork, type PackageBuild, readPackages } from './packages.ts'
import { createSourceStore } from './stored-files.ts'

const publicRegistry = 'https://registry.npmjs.org/'
const npmPlace = '/opt/familiar/npm'
const script = readBundledText(new URL('build-node-packages.cjs', import.meta.url))
const limits = {
  memoryBytes: 2 * 1024 ** 3,
  processes: 96,
  wallMs: 300_000,
  outputBytes: 192 * 1024 ** 2,
  scratchBytes: 1024 ** 3,
}

/** A name, perhaps of a scope, and perhaps a version: no address, no path, no option. */
const packageName =
  /^(?:@[a-z0-9][a-z0-9._-]{0,100}\/)?[a-z0-9][a-z0-9._-]{0,100}(?:@[\^~]?[0-9A-Za-z][0-9A-Za-z.+-]{0,60})?$/

/** The folder of npm on this machine: beside this Node, or the system's. */
export function findNpm(executable = process.execPath): string | undefined {
  const beside = join(dirname(dirname(executable)), 'lib/node_modules/npm')
  const places = [beside, '/usr/lib/node_modules/npm', '/usr/share/nodejs/npm', '/usr/local/lib/node_modules/npm']
  return places.find((place) => existsSync(join(place, 'bin/npm-cli.js')))
}

export type NodePackages = ReturnType<typeof createNodePackages>

/** npm packages, installed in the sandbox without their install scripts, once for each set of names. */
export function createNodePackages(dependencies: {
  directory: string
  sandbox: Pick<Sandbox, 'run'>
  proxy: Pick<SandboxProxy, 'open'>
  npm: () => string | undefined
  registry?: string | undefined
}) {
  const { sandbox, proxy, registry = publicRegistry } = dependencies
  const store = createSourceStore({ directory: dependencies.directory })
  const share = createSharedWork<PackageBuild>()

  async function buildNow(key: string, names: readonly string[], signal: AbortSignal): Promise<PackageBuild> {
    const kept = await store.find(key)
    if (kept !== undefined) return { ok: true, directory: kept }
    const npm = dependencies.npm()
    if (npm === undefined) return failed(names, 'npm is not installed on this machine')
    const way = await proxy.open({ hosts: [new URL(registry).host], tool: 'npm', signal })
    try {
      const outcome = await sandbox.run({
        argv: ['node', '-e', script],
        environment: {},
        workingDirectory: '/tmp',
        stdin: new TextEncoder().encode(JSON.stringify({ npm: npmPlace, names, registry })),
        mounts: [{ source: npm, target: npmPlace }],
        isWritable: true,
        network: { kind: 'proxy', socketPath: way.socketPath },
        limits,
        signal,
      })
      if (outcome.end.kind !== 'exited' || outcome.end.code !== 0) {
        return failed(
          names,
          new TextDecoder().decode(outcome.stderr).trim().slice(-500) || `it ended with ${outcome.end.kind}`,
        )
      }
      const files = readPackages(outcome.stdout)
      return files.ok ? { ok: true, directory: await store.keep(key, files.value) } : failed(names, files.message)
    } finally {
      await way.close()
    }
  }

  return {
    async build(names: readonly string[], signal: AbortSignal): Promise<PackageBuild> {
      const refused = names.find((name) => !packageName.test(name))
      if (refused !== undefined)
        return failed([refused], 'only names with versions are installed, no options or addresses')
      const key = sha256(canonicalJson([process.version, script, registry, [...new Set(names)].sort()])).slice(0, 32)
      try {
        return await share(key, signal, (whileWanted) => buildNow(key, names, whileWanted))
      } catch (cause) {
        if (cause instanceof SandboxUnavailable) return failed(names, cause.message)
        throw cause
      }
    },
  }
}

function failed(names: readonly string[], reason: string): PackageBuild {
  const hint = /\bE404\b/.test(reason) ? ', and npm says that there is no such package' : `, and npm says: ${reason}`
  return { ok: false, problem: `needs ${names.join(', ')} for Node${hint}` }
}
