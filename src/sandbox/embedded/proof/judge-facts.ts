import { readlinkSync } from 'node:fs'
import type { SandboxProof } from '../../sandbox.ts'

const namespaces = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'] as const

/** What this machine's own processes are in; a sandbox must be in others. */
export function hostNamespaces(): string[] {
  return namespaces.map((name) => readlinkSync(`/proc/self/ns/${name}`))
}

/** What facts.sh has told, against what every sandbox has to be. */
export function judgeFacts(text: string, outside: readonly string[]): SandboxProof[] {
  const sections = readSections(text)
  if (!sections.has('end')) return [{ name: 'inside', ok: false, detail: 'the sandbox did not tell what it is' }]
  const lines = (name: string) => sections.get(name) ?? []
  const status = new Map(lines('status').map((line): [string, string] => splitAt(line, ':')))

  const inside = lines('namespaces')
  const shared = namespaces.filter((_, index) => !inside[index] || inside[index] === outside[index])
  const interfaces = lines('interfaces').flatMap((line) => (line.includes(':') ? [splitAt(line, ':')[0]] : []))
  const routes = lines('routes').slice(1)
  const [, outerUser] = lines('users')[0]?.trim().split(/\s+/) ?? []
  const settings = lines('writable').filter((path) => path.startsWith('/proc/sys'))
  const folders = lines('writable').filter((path) => !path.startsWith('/proc/sys'))
  const strays = lines('descriptors').flatMap(strayDescriptor)
  const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter(
    (name) => !/^0+$/.test(status.get(name) ?? ''),
  )

  return [
    proof('namespaces', shared.length === 0, `of its own: ${namespaces.join(', ')}`, `shared: ${shared.join(', ')}`),
    proof(
      'network',
      interfaces.join() === 'lo' && routes.length === 0 && !shared.includes('net'),
      'nothing but a loopback of its own',
      `there is ${[...interfaces, ...routes].join(', ')}`,
    ),
    proof('host files', lines('host').length === 0, 'none can be seen', `seen: ${lines('host').join(', ')}`),
    proof('not host root', Number(outerUser) > 0, `it is user ${outerUser} outside`, `it is user ${outerUser} outside`),
    proof('capabilities', capabilities.length === 0, 'none', `it has ${capabilities.join(', ')}`),
    proof('no new privileges', status.get('NoNewPrivs') === '1', 'set', 'not set'),
    proof('system call filter', status.get('Seccomp') === '2', 'on', 'off'),
    proof('kernel settings', settings.length === 0, 'cannot be written', `written: ${settings.join(', ')}`),
    proof('read-only root', folders.length === 0, 'nothing can be written', `written: ${folders.join(', ')}`),
    proof('descriptors', strays.length === 0, 'only its own four', `also ${strays.join(', ')}`),
  ]
}

function proof(name: string, ok: boolean, good: string, bad: string): SandboxProof {
  return { name, ok, detail: ok ? good : bad }
}

/** Of `3 -> pipe:[1]`, or of what `ls -l` has before that. Who reads the list holds the list itself. */
function strayDescriptor(line: string): string[] {
  const [, number = '', target = ''] = /(\d+) -> (.+)$/.exec(line) ?? []
  if (number === '' || /^\/proc\/\d+\/fd$/.test(target)) return []
  return ['0', '1', '2', '3'].includes(number) ? [] : [`${number} -> ${target}`]
}

function readSections(text: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  let current: string[] = []
  for (const line of text.split('\n')) {
    const name = /^== (.+)$/.exec(line)?.[1]
    if (name !== undefined) {
      current = []
      sections.set(name, current)
    } else if (line !== '') current.push(line)
  }
  return sections
}

function splitAt(line: string, mark: string): [string, string] {
  const index = line.indexOf(mark)
  return [line.slice(0, index).trim(), line.slice(index + 1).trim()]
}
