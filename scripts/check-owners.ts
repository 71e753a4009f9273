import { importsOf } from './imports-of.ts'
import { isTest, type Report, type SourceFiles } from './source-files.ts'

interface Restriction {
  what: string
  imports?: RegExp
  words?: RegExp
  /** Folders and files of src, or files of web, that own it. */
  owners: string[]
  instead: string
}

/** Those that open a connection or answer one. */
const networkModules = ['net', 'tls', 'http', 'https', 'http2', 'dgram', 'dns', 'inspector', 'cluster', 'repl']
const networkModule = `(${networkModules.join('|')})(/promises)?`

/** Each speaks to this machine alone, and says so where it does. Everything else goes out through src/security/network (SEC-8). */
const ownNetwork = [
  // Answers on the daemon's own address, and the command line that asks there.
  'http/server.ts',
  'terminal/connect.ts',
  // Waits on 127.0.0.1 for the browser to come back from a login.
  'terminal/commands/login-server.ts',
  // Tries whether a port is free.
  'terminal/serve-daemon.ts',
  // The sockets of a container engine, and those between a sandbox and its proxy.
  'sandbox/container/run-container.ts',
  'sandbox/embedded/launcher.ts',
  'sandbox/embedded/prepare-command.ts',
]

// Restrictions that biome can express with one list of owners (the global `fetch`, `process.env`) are in biome.json.
const restrictions: Restriction[] = [
  {
    what: 'node:fs',
    imports: /^(node:)?fs(\/promises)?$/,
    owners: [
      'base',
      'storage',
      'memory/files',
      'tools/files',
      'fleet',
      'security',
      'sandbox',
      'custom-tools',
      'daemon',
      'terminal',
    ],
    instead: 'use the safe files of src/base',
  },
  {
    what: 'node:child_process',
    imports: /^(node:)?child_process$/,
    owners: ['base', 'memory/embedding', 'sandbox', 'tools/mcp', 'daemon', 'terminal'],
    instead: 'use the child processes of src/base or a sandbox',
  },
  {
    what: 'undici',
    imports: /^undici(\/|$)/,
    owners: ['security/network'],
    instead: 'take the guarded fetch of src/security/network as an argument',
  },
  {
    what: 'the network',
    imports: new RegExp(`^(node:)?${networkModule}$`),
    // Through the back door: `require`, `process.getBuiltinModule`, a name in a variable.
    words: new RegExp(
      `['"\`]node:${networkModule}['"\`]|\\b(require|getBuiltinModule)\\(\\s*['"\`]${networkModule}['"\`]`,
    ),
    owners: ['security/network', ...ownNetwork],
    instead: 'take the guarded fetch or a proxy of src/security/network as an argument',
  },
  {
    // Each is handed the guarded fetch, or the address of a proxy; the server of MCP only answers what HTTP brings it.
    what: 'a package that opens connections by itself',
    imports: /^(@ai-sdk\/(?!provider$)|@modelcontextprotocol\/|playwright)/,
    owners: [
      'models/providers.ts',
      'tools/mcp',
      'tools/builtin/browser-tool.ts',
      'tools/builtin/browsers.ts',
      'http/mcp',
    ],
    instead: 'take the guarded fetch or a proxy of src/security/network as an argument',
  },
  {
    what: 'a fetch of the global object',
    words: /(?<!typeof )\b(globalThis|global|window|self)\.fetch\b/,
    owners: ['security/network'],
    instead: 'take the guarded fetch of src/security/network as an argument',
  },
  {
    what: 'a connection of the global object',
    words: /\bnew (globalThis\.)?(WebSocket|WebSocketStream|EventSource|XMLHttpRequest)\b|\bnavigator\.sendBeacon\b/,
    // The client of the page, to its own daemon: `fetch` tells nothing about the progress of an upload.
    owners: ['web/src/api/call.ts'],
    instead: 'take the guarded fetch of src/security/network as an argument',
  },
  {
    what: 'HTML from a string',
    words: /\.(innerHTML|outerHTML)\b|\binsertAdjacentHTML\b|\bdangerouslySetInnerHTML\b|\bdocument\.write\b/,
    // The sandboxed document of previews is made of it.
    owners: ['web/preview.html'],
    instead: 'build elements, or render the card in its frame',
  },
]

/** Restricted modules and globals are used only in the folders that own them. Tests may use everything. */
export function checkOwners(files: SourceFiles): Report {
  const findings = [...files]
    .filter(([path]) => /^(src|web)\//.test(path) && !isTest(path))
    .flatMap(([path, text]) => restrictions.flatMap((restriction) => violations(path, text, restriction)))
  return { findings }
}

function violations(path: string, text: string, { what, imports, words, owners, instead }: Restriction): string[] {
  if (owners.map(placeOf).some((place) => path === place || path.startsWith(`${place}/`))) return []
  const isUsed = (imports && importsOf(text).some((name) => imports.test(name))) || words?.test(text)
  return isUsed ? [`${path}: ${what} belongs to ${ownersOf(owners)}: ${instead}`] : []
}

function ownersOf(owners: string[]): string {
  return owners.length === 0 ? 'no folder' : owners.map(placeOf).join(', ')
}

const placeOf = (owner: string) => (owner.startsWith('web/') ? owner : `src/${owner}`)
