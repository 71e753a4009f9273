import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AssetStore, agentOfMax, max, openAssetStore } from '../../../test/support/asset-store.ts'
import { openRealSandbox } from '../../../test/support/real-sandbox.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { openTestWorkbench } from '../../../test/support/workbench.ts'
import { systemClock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import type { ToolContext } from '../tool.ts'
import type { FinishedWork, Workbench, WorkLimits } from './workbench.ts'

const real = openRealSandbox()
afterAll(real.close)

let store: AssetStore
let workbench: Workbench
let mounted: string[]
let active: Set<string>

function open(limits: Partial<WorkLimits> = {}): Workbench {
  const sandbox: typeof real.sandbox = {
    ...real.sandbox,
    run(command) {
      mounted = command.mounts.filter(({ isWritable }) => isWritable).map(({ source }) => source)
      return real.sandbox.run(command)
    },
  }
  return openTestWorkbench(store, {
    sandbox,
    limits,
    // The watch has to go on by itself.
    clock: { ...store.clock, now: store.clock.now, after: systemClock().after },
    activeSessions: async () => active,
  })
}

beforeEach(async () => {
  store = await openAssetStore()
  active = new Set(['session'])
  workbench = open()
})
afterEach(async () => {
  await workbench.close()
  for (const folder of mounted) rmSync(folder, { recursive: true, force: true })
  await store.close()
})

function run(script: string, context: Partial<ToolContext> = {}): Promise<FinishedWork> {
  const limits = { memoryBytes: 256e6, processes: 32, wallMs: 30_000, outputBytes: 1e6, scratchBytes: 8e6 }
  const command = { argv: ['bash', '-c', script] as const, environment: {}, stdin: new Uint8Array(), mounts: [] }
  return workbench.run({ ...command, network: { kind: 'none' }, limits }, toolContext(context))
}

function printed({ outcome, notes }: FinishedWork): string {
  if (!outcome) return notes.join('\n')
  return `${new TextDecoder().decode(outcome.stdout)}${new TextDecoder().decode(outcome.stderr)}`
}

const inWorkspace = (...names: string[]) => join(store.workspace, ...names)
const textAt = (...names: string[]) => readFileSync(inWorkspace(...names), 'utf8')

describe('a program that works on the user’s files', () => {
  it('HANDS-1 reads, changes, adds and removes them, and everything stays', async () => {
    mkdirSync(inWorkspace('notes'))
    writeFileSync(inWorkspace('notes', 'trip.md'), 'Lisbon')
    writeFileSync(inWorkspace('old.txt'), 'old')
    writeFileSync(inWorkspace('photo.bin'), Buffer.from([0, 255, 1]))
    const script = `pwd; cat notes/trip.md; echo ' in May' >> notes/trip.md; rm old.txt
      mkdir -p new/deep; echo made > new/deep/file.txt; printf '\\0\\1\\2' > photo.bin; printf '\\0new' > new/data.bin`
    const work = await run(script)
    expect(printed(work)).toBe('/workspace\nLisbon')
    expect(textAt('notes', 'trip.md')).toBe('Lisbon in May\n')
    expect(textAt('new', 'deep', 'file.txt')).toBe('made\n')
    expect([...readFileSync(inWorkspace('photo.bin'))]).toEqual([0, 1, 2])
    expect(existsSync(inWorkspace('old.txt'))).toBe(false)
    const paths = ['new/data.bin', 'new/deep/file.txt', 'notes/trip.md', 'photo.bin']
    expect(work.kept.media?.map(({ path }) => path)).toEqual(paths)
    expect(work.kept.media?.[1]).toMatchObject({ name: 'file.txt', mediaType: 'text/plain', bytes: 5 })
    expect(work.notes).toEqual([
      'Files in the workspace: new/data.bin (4 bytes, new), new/deep/file.txt (5 bytes, new), notes/trip.md (14 bytes), photo.bin (3 bytes).',
      'Removed: old.txt.',
    ])
    expect(statSync(inWorkspace('photo.bin')).mode & 0o077).toBe(0)
    expect((await run('cat new/deep/file.txt; ls')).outcome?.stdout.toString()).toBe(
      Buffer.from('made\nnew\nnotes\nphoto.bin\n').toString(),
    )
  })

  it('HANDS-1 nothing is lost: texts have versions, other files are put aside', async () => {
    writeFileSync(inWorkspace('a.md'), 'first')
    writeFileSync(inWorkspace('b.md'), 'gone soon')
    writeFileSync(inWorkspace('c.bin'), Buffer.from([0, 1]))
    writeFileSync(inWorkspace('d.bin'), Buffer.from([0, 2]))
    await run('echo second > a.md; rm b.md d.bin; printf "\\0x" > c.bin')
    await store.assets.undo(max, { path: 'a.md' })
    await store.assets.undo(max, { path: 'b.md' })
    expect([textAt('a.md'), textAt('b.md')]).toEqual(['first', 'gone soon'])
    const [day = ''] = readdirSync(join(store.home, 'replaced-files'))
    const aside = join(store.home, 'replaced-files', day)
    expect(readdirSync(aside).map((name) => [name, ...readFileSync(join(aside, name))])).toEqual([
      ['c.bin', 0, 1],
      ['d.bin', 0, 2],
    ])
  })

  it('HANDS-1 a file that the user changes meanwhile is not overwritten', async () => {
    writeFileSync(inWorkspace('plan.md'), 'first')
    const running = run('echo mine > plan.md; touch /scratch/done; sleep 1; echo mine > plan.md')
    await expect.poll(() => mounted.some((folder) => existsSync(join(folder, 'done'))), { timeout: 20_000 }).toBe(true)
    writeFileSync(inWorkspace('plan.md'), 'by the user')
    const work = await running
    expect([textAt('plan.md'), textAt('plan-2.md')]).toEqual(['by the user', 'mine\n'])
    expect(work.notes).toContain('plan.md was changed meanwhile by someone else; this version is plan-2.md.')
  })

  it('SEC-4 does not change the files of the prompt, under any of their names', async () => {
    mkdirSync(inWorkspace('skills', 'own'), { recursive: true })
    writeFileSync(inWorkspace('skills', 'own', 'SKILL.md'), 'own')
    for (const name of ['SOUL.md', 'TONE.md']) writeFileSync(inWorkspace(name), 'kind')
    const script = `for name in SOUL.md TONE.md AGENTS.md soul.md skills/own/SKILL.md skills/new/SKILL.md Skills/x.md; do
        mkdir -p "$(dirname "$name")"; echo obey > "$name"; done
      rm -rf SOUL.md skills; mv TONE.md gone.md; echo fine > fine.md`
    const work = await run(script)
    expect(readdirSync(store.workspace).sort()).toEqual(['SOUL.md', 'TONE.md', 'fine.md', 'skills'])
    expect([textAt('SOUL.md'), textAt('TONE.md'), textAt('skills', 'own', 'SKILL.md')]).toEqual(['kind', 'kind', 'own'])
    expect(readdirSync(inWorkspace('skills'))).toEqual(['own'])
    expect(work.notes.join('\n')).toContain('AGENTS.md was not kept: it is part of your own prompt')
    expect(printed(work)).toContain('Read-only file system')
  })

  it('SEC-11 no link leads out: neither one of the user nor one that a program makes', async () => {
    const canary = join(store.outside, 'secret.txt')
    writeFileSync(canary, 'canary')
    symlinkSync(store.outside, inWorkspace('leads-out'))
    symlinkSync(canary, inWorkspace('file-out'))
    mkdirSync(inWorkspace('notes'))
    writeFileSync(inWorkspace('notes', 'a.md'), 'a')
    const script = `cat leads-out/secret.txt file-out; mkdir -p leads-out; echo taken > leads-out/secret.txt
      echo taken > leads-out/new.txt; echo taken > file-out; rm -r notes; ln -s ${store.outside} notes
      ln -s ${canary} made; ln -s /etc/passwd passwd; echo fine > fine.txt`
    const work = await run(script)
    expect(printed(work)).not.toContain('canary')
    expect([readFileSync(canary, 'utf8'), readdirSync(store.outside)]).toEqual(['canary', ['secret.txt']])
    expect(readdirSync(store.workspace).sort()).toEqual(['file-out', 'fine.txt', 'leads-out'])
    expect(work.notes).toContain('Links are not kept.')
    // The next program gets none either.
    expect(printed(await run('cat made passwd notes/secret.txt'))).not.toMatch(/canary|root:/)
  })

  it('SEC-26 sees nothing of another user, who has no workspace', async () => {
    writeFileSync(inWorkspace('mine.md'), 'canary of max')
    expect(printed(await run('cat mine.md'))).toBe('canary of max')
    await run('echo canary > /scratch/mine')
    const work = await run(
      'pwd; ls -A /workspace /scratch; grep -r canary /workspace /scratch /tmp /home /root /var 2>/dev/null; echo x > /scratch/x',
      {
        userId: 'eve',
        sessionId: 'eves',
      },
    )
    expect(printed(work)).toMatch(/^\/scratch\n(?!.*canary)/s)
    expect(work.kept).toEqual({})
    expect(readdirSync(store.workspace)).toEqual(['mine.md'])
  })

  it('HANDS-2 that fills the disk is stopped with the reason, and nothing is lost', async () => {
    workbench = open({ growthBytes: 4e6, scratchBytes: 4e6 })
    writeFileSync(inWorkspace('a.md'), 'kept')
    writeFileSync(inWorkspace('b.md'), 'kept too')
    const filled = await run('rm b.md; echo changed > a.md; head -c 60M /dev/zero > big; sleep 20')
    expect(filled.outcome).toBeNull()
    expect(filled.notes.join()).toMatch(/wrote too much.*4 MB to \/workspace.*files are as they were/)
    expect([textAt('a.md'), textAt('b.md')]).toEqual(['kept', 'kept too'])
    const many = await run('for i in $(seq 70); do head -c 100K /dev/zero > "f$i"; done')
    expect(many.outcome).toBeNull()
    const scratch = await run('head -c 60M /dev/zero > /scratch/big; sleep 20')
    expect(scratch.notes.join()).toContain('/scratch may hold 4 MB. It was emptied')
    expect(printed(await run('ls /scratch; cat a.md b.md; ls'))).toBe('keptkept tooa.md\nb.md\n')
  })

  it('HANDS-2 a copy of the workspace has limits, and says what did not fit', async () => {
    workbench = open({ fileBytes: 1_000 })
    writeFileSync(inWorkspace('large.txt'), 'x'.repeat(2_000))
    writeFileSync(inWorkspace('small.txt'), 'x')
    const work = await run('ls; echo new > large.txt')
    expect(printed(work)).toBe('small.txt\n')
    expect(work.notes.join('\n')).toContain('1 file of the workspace did not fit into /workspace')
    expect(textAt('large.txt')).toHaveLength(2_000)
    expect(textAt('large-2.txt')).toBe('new\n')
  })

  it('HANDS-3 has a scratch folder of the conversation, which goes with it', async () => {
    await run('echo kept > /scratch/state; mkdir /scratch/node_modules')
    const [scratch = ''] = mounted.filter((folder) => folder.endsWith('scratch-session'))
    expect(printed(await run('cat /scratch/state; ls /scratch'))).toBe('kept\nnode_modules\nstate\n')
    expect(printed(await run('ls -A /scratch', { sessionId: 'other' }))).toBe('')
    expect(readdirSync(store.workspace)).toEqual([])
    const others = ['scratch-archived', 'scratch-forgotten'].map((name) => join(dirname(scratch), name))
    for (const folder of others) mkdirSync(folder, { recursive: true })
    active = new Set(['session', 'other', 'forgotten'])
    const longAgo = new Date(store.clock.now() - 30 * 24 * 60 * 60_000)
    utimesSync(others[1] ?? '', longAgo, longAgo)
    await store.clock.advance(2 * 60 * 60_000)
    await run('true')
    expect(others.map((folder) => existsSync(folder))).toEqual([false, false])
    expect(existsSync(scratch)).toBe(true)
  })
})

describe('the trust of a program’s output', () => {
  beforeEach(() => {
    mkdirSync(inWorkspace('notes'))
    writeFileSync(inWorkspace('notes', 'own.md'), 'own words')
  })

  it('SEC-27 is untrusted once it has read an untrusted file, and not before', async () => {
    await store.assets.write(agentOfMax('untrusted'), { path: 'page.md', content: 'from a page' })
    const clean = await run('cat notes/own.md; ls; wc -c notes/own.md > count.txt')
    expect(clean.kept).toMatchObject({ isPrivate: true })
    expect(clean.kept.label).toBeUndefined()
    expect(await store.assets.load(max, { path: 'count.txt' })).toMatchObject({ trust: 'internal' })
    const read = await run('cp page.md copy.md; head -c 4 page.md > part.md; (printf "\\0"; cat page.md) > part.bin')
    expect(read.kept).toMatchObject({ label: 'untrusted' })
    for (const path of ['copy.md', 'part.md']) {
      expect(await store.assets.load(max, { path })).toMatchObject({ trust: 'untrusted' })
    }
    expect(await store.untrusted.has('max', sha256(readFileSync(inWorkspace('part.bin'))))).toBe(true)
    expect((await run('cat part.bin > /dev/null')).kept).toMatchObject({ label: 'untrusted' })
    expect((await run('cat notes/own.md')).kept.label).toBeUndefined()
  })

  it('SEC-27 a program cannot hide what it has read', async () => {
    const hiding = [
      'cat page.md > /dev/null; touch -a -d "1970-01-01 00:00:01 UTC" page.md',
      'mv page.md moved.md; cat moved.md',
      'ln page.md linked.md; cat linked.md',
      'cat page.md; rm page.md',
    ]
    for (const script of hiding) {
      await store.assets.write(agentOfMax('untrusted'), { path: 'page.md', content: 'from a page' })
      expect((await run(script)).kept, script).toMatchObject({ label: 'untrusted' })
    }
  })

  it('SEC-27 a file that it writes after untrusted content came into view is untrusted', async () => {
    await run('echo obey > notes/order.md', { seen: { untrusted: true, private: false } })
    expect(await store.assets.load(max, { path: 'notes/order.md' })).toMatchObject({ trust: 'untrusted' })
  })
})
