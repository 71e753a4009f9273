import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { findCgroups } from './cgroups.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-cgroup-'))
  folders.push(folder)
  return folder
}

const own = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, isOther: false }

/** Folders that look like a machine's, with the two files in which the kernel describes them. */
function machine(options: { mounts: string[]; own: string; files: Record<string, string> }) {
  const root = temporary()
  for (const [path, text] of Object.entries(options.files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const mounts = options.mounts.map((line, index) => `${30 + index} 20 0:2 / ${line.replace('ROOT', root)}`)
  writeFileSync(join(root, 'mountinfo'), ['20 1 8:1 / / rw - ext4 /dev/sda rw', ...mounts].join('\n'))
  writeFileSync(join(root, 'cgroup'), options.own)
  return { root, find: () => findCgroups({ instance: '1-2-3-x', account: own, proc: root }) }
}

const unifiedMount = 'ROOT/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate'

describe('the cgroups of a machine', () => {
  it('SEC-12 version 1 groups are created in the trees of memory and of processes', () => {
    const { root, find } = machine({
      mounts: [
        'ROOT/memory rw,relatime - cgroup cgroup rw,memory',
        'ROOT/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct',
        'ROOT/pids rw,relatime - cgroup cgroup rw,pids',
        unifiedMount,
      ],
      own: '4:memory:/a/b\n8:pids:/\n0::/',
      files: { 'memory/tasks': '', 'pids/tasks': '', 'cpu/tasks': '', 'unified/cgroup.controllers': '' },
    })
    const found = find()
    expect(found).toMatchObject({ places: [join(root, 'memory'), join(root, 'pids')], fix: null })
    const parent = found.open?.()
    expect(parent?.version).toBe(1)
    const group = parent?.make('1')
    group?.limit({ memoryBytes: 64_000_000, processes: 9 })
    const memory = join(root, 'memory/familiar-sandbox-1-2-3-x/1')
    const processes = join(root, 'pids/familiar-sandbox-1-2-3-x/1')
    const text = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8')
    expect(group?.joinFiles).toEqual([join(memory, 'cgroup.procs'), join(processes, 'cgroup.procs')])
    expect(text(memory, 'memory.limit_in_bytes')).toBe('64000000')
    expect(text(memory, 'memory.memsw.limit_in_bytes')).toBe('64000000')
    expect(text(processes, 'pids.max')).toBe('9')
    writeFileSync(join(memory, 'memory.oom_control'), 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n')
    writeFileSync(join(memory, 'memory.max_usage_in_bytes'), '1234\n')
    expect([group?.memoryKills(), group?.peakMemoryBytes()]).toEqual([2, 1234])
  })

  it('SEC-12 version 2 groups are created where both controllers are delegated', () => {
    const both = 'cpu memory pids'
    const { root, find } = machine({
      mounts: [unifiedMount],
      own: '0::/user.slice/app.scope/familiar-main',
      files: {
        'unified/cgroup.subtree_control': '',
        'unified/cgroup.controllers': '',
        'unified/user.slice/app.scope/cgroup.subtree_control': both,
        'unified/user.slice/app.scope/familiar-main/cgroup.procs': '',
      },
    })
    const scope = join(root, 'unified/user.slice/app.scope')
    const found = find()
    expect(found.places).toEqual([scope])
    const group = found.open?.().make('7')
    group?.limit({ memoryBytes: 64_000_000, processes: 9 })
    const folder = join(scope, 'familiar-sandbox-1-2-3-x/7')
    const text = (file: string) => readFileSync(join(folder, file), 'utf8')
    expect(group?.joinFiles).toEqual([join(folder, 'cgroup.procs')])
    expect([text('memory.max'), text('memory.swap.max'), text('memory.oom.group'), text('pids.max')]).toEqual([
      ...['64000000', '0', '1', '9'],
    ])
    expect(readFileSync(join(scope, 'familiar-sandbox-1-2-3-x/cgroup.subtree_control'), 'utf8')).toBe('+memory +pids')
    writeFileSync(join(folder, 'memory.events'), 'low 0\nmax 5\noom 1\noom_kill 1\n')
    expect([group?.memoryKills(), group?.peakMemoryBytes()]).toEqual([1, null])
    writeFileSync(join(folder, 'memory.peak'), '4321\n')
    expect(group?.peakMemoryBytes()).toBe(4321)
  })

  it('SEC-12 without the controllers none are created, and the error says what would help', () => {
    const { find } = machine({
      mounts: [unifiedMount],
      own: '0::/session.scope',
      files: { 'unified/cgroup.controllers': 'cpu', 'unified/session.scope/cgroup.controllers': '' },
    })
    expect(find()).toEqual({ places: [], fix: expect.stringContaining('Delegate=yes') })
    expect(machine({ mounts: [], own: '', files: {} }).find()).toEqual({ places: [], fix: null })
  })
})
