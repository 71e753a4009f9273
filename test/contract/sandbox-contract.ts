import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxOutcome } from '../../src/sandbox/sandbox.ts'
import {
  bearing,
  commandOf,
  megabyte,
  newMark,
  processesMarked,
  python,
  type SandboxUnderTest,
  temporaryFolder,
  textOf,
  until,
} from './sandbox-support.ts'

/** The contract of every driver, on this machine, with real programs. */
export function describeSandbox(name: string, open: () => Promise<SandboxUnderTest>): void {
  describe(`sandbox: ${name}`, { timeout: 120_000 }, () => {
    let sandbox: SandboxUnderTest
    const folder = temporaryFolder()
    // Mounts that all users may read are bound directly and not copied first.
    chmodSync(folder.path, 0o755)

    beforeAll(async () => {
      sandbox = await open()
    }, 120_000)
    afterAll(async () => {
      await sandbox?.driver.close()
      await sandbox?.dispose()
      folder.remove()
    }, 60_000)

    const run: SandboxUnderTest['driver']['run'] = (command) => sandbox.driver.run(command)

    test('SEC-12 proves its limits on this machine', async () => {
      const result = await sandbox.driver.test(AbortSignal.timeout(100_000))
      expect(result.proofs.filter(({ ok }) => !ok)).toEqual([])
      expect(result.ok).toBe(true)
      const names = result.proofs.map((proof) => proof.name)
      expect(names).toEqual(expect.arrayContaining(['memory', 'processes', 'network', 'host files']))
    })

    describe('output', () => {
      test.each([0, 1, 7, 127])('TOOL-2 exit code %i', async (code) => {
        const outcome = await run(commandOf(['sh', '-c', `exit ${code}`]))
        expect(outcome.end).toEqual({ kind: 'exited', code })
        expect(outcome).toMatchObject({ driver: sandbox.driver.name, stdout: empty, stderr: empty, result: empty })
      })

      test.each(['SIGKILL', 'SIGTERM', 'SIGSEGV'])('TOOL-2 an end by %s', async (signal) => {
        const outcome = await run(python(`import os, signal; os.kill(os.getpid(), signal.${signal})`))
        expect(outcome.end).toEqual({ kind: 'killed', signal })
      })

      test('TOOL-2 both outputs and the result, apart and whole', async () => {
        const outcome = await run(
          python(`
import os, sys
print("out")
print("err", file=sys.stderr)
os.write(3, b"result \\x00\\xff")
`),
        )
        expect([textOf(outcome.stdout), textOf(outcome.stderr)]).toEqual(['out\n', 'err\n'])
        expect(Buffer.from(outcome.result)).toEqual(Buffer.from('result \x00\xff', 'latin1'))
      })

      test('TOOL-2 every byte on standard input and output', async () => {
        const bytes = Buffer.alloc(megabyte, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)))
        const outcome = await run(commandOf(['cat'], { stdin: bytes }))
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 })
        expect(Buffer.compare(Buffer.from(outcome.stdout), bytes)).toBe(0)
      })

      test('TOOL-2 unread input', async () => {
        const outcome = await run(commandOf(['true'], { stdin: Buffer.alloc(4 * megabyte) }))
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 })
      })

      test('TOOL-2 all output of a quick program, also if it leaves its input unread', async () => {
        const command = () => commandOf(['sh', '-c', 'echo first; echo beside >&2; echo last'], { stdin: 'unread\n' })
        const outcomes = await Promise.all(Array.from({ length: 12 }, () => sandbox.driver.run(command())))
        const printed = outcomes.map(({ stdout, stderr }) => [textOf(stdout), textOf(stderr)])
        expect(printed).toEqual(outcomes.map(() => ['first\nlast\n', 'beside\n']))
      })

      test('TOOL-2 words of a command, whatever is in them', async () => {
        const words = ['', ' ', 'a b', '"', "'", '$HOME', '`id`', '\n', '-x', '--', 'Grüße 🦊 \u202e', '*', '\\']
        const outcome = await run(
          commandOf(['python3', '-c', 'import json, sys; print(json.dumps(sys.argv[1:]))', ...words]),
        )
        expect(JSON.parse(textOf(outcome.stdout))).toEqual(words)
      })

      test('a program that is not there is an outcome', async () => {
        const outcome = await run(commandOf(['no-such-program']))
        expect(outcome.end.kind).toBe('exited')
        expect(outcome.end).not.toEqual({ kind: 'exited', code: 0 })
      })

      test('SEC-12 printing does not forge the result', async () => {
        const outcome = await run(
          python(`
import os, sys
for stream in (1, 2):
    os.write(stream, b'\\x03\\x00\\x00\\x00\\x00\\x00\\x00\\x04fake' + b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x04fake\\n')
os.write(3, b"true")
os.write(1, b"fake")
`),
        )
        expect(textOf(outcome.result)).toBe('true')
        expect(outcome.stdout.length).toBe(29)
      })
    })

    describe('limits', () => {
      test.each(['stdout', 'stderr'] as const)(
        'TOOL-4 of %s: as much as is allowed and no byte more',
        async (stream) => {
          const most = { limits: { outputBytes: 5000 } }
          const printing = (bytes: number) => python(`import sys; sys.${stream}.write("x" * ${bytes})`, most)
          const fits = await run(printing(5000))
          expect(fits.end).toEqual({ kind: 'exited', code: 0 })
          expect(fits[stream].length).toBe(5000)
          const over = await run(printing(5001))
          expect(over.end).toEqual({ kind: 'output_too_large', stream })
          expect(over[stream].length).toBeLessThanOrEqual(5000)
        },
      )

      test('TOOL-4 of output: a flood ends the run', async () => {
        const mark = newMark()
        const outcome = await run(python(`${bearing(mark)}\nimport os\nwhile True: os.write(1, b"x" * 65536)`))
        expect(outcome.end).toEqual({ kind: 'output_too_large', stream: 'stdout' })
        expect(processesMarked(mark)).toEqual([])
      })

      test('TOOL-4 of time: all its processes end, and earlier output is kept', async () => {
        const mark = newMark()
        const outcome = await run(python(stubborn(mark), { limits: { wallMs: 4_000 } }))
        expect(outcome.end).toEqual({ kind: 'timed_out' })
        expect(textOf(outcome.stdout)).toBe('begun\n')
        expect(processesMarked(mark)).toEqual([])
      })

      test('TOOL-4 a child that outlives the command ends with it', async () => {
        const mark = newMark()
        const outcome = await run(
          python(`
${bearing(mark)}
import os, time
for detached in (False, True):
    if os.fork() == 0:
        os.setsid()
        if detached and os.fork():
            os._exit(0)
        if detached:
            for descriptor in (0, 1, 2, 3): os.close(descriptor)
        time.sleep(600)
        os._exit(0)
print("done")
`),
        )
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 })
        expect(textOf(outcome.stdout)).toBe('done\n')
        expect(processesMarked(mark)).toEqual([])
      })

      test('TOOL-4 a command that closes its outputs and keeps running is awaited', async () => {
        const outcome = await run(
          python(`
import os, time
for descriptor in (0, 1, 2): os.close(descriptor)
time.sleep(0.5)
os.write(3, b"late")
os._exit(5)
`),
        )
        expect(outcome.end).toEqual({ kind: 'exited', code: 5 })
        expect(textOf(outcome.result)).toBe('late')
      })

      test('TOOL-4 of memory: one process', async () => {
        const outcome = await run(python('print("begun", flush=True); held = b"x" * (400 << 20); print("survived")'))
        expect(textOf(outcome.stdout)).toBe('begun\n')
        expect(outcome.end).toEqual({ kind: 'out_of_memory' })
      })

      test('TOOL-4 of memory: many processes together', async () => {
        const outcome = await run(
          python(`
import os, sys, time
for number in range(6):
    if os.fork() == 0:
        held = b"x" * (50 << 20)
        time.sleep(5)
        os._exit(0)
ends = [os.wait()[1] for number in range(6)]
sys.exit(0 if any(ends) else 9)
`),
        )
        expect(outcome.end).toEqual({ kind: 'out_of_memory' })
      })

      test('TOOL-4 a run below the memory limit passes', async () => {
        const outcome = await run(python('held = b"x" * (60 << 20); print(len(held))'))
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 })
        if (outcome.peakMemoryBytes !== null) expect(outcome.peakMemoryBytes).toBeGreaterThan(60 * megabyte)
      })

      test.each(['fork', 'thread'])('TOOL-4 of processes: %s', async (kind) => {
        const outcome = await run(
          python(
            `
import os, sys, threading, time
count = 0
try:
    for number in range(200):
        if "${kind}" == "fork":
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
        else:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        count += 1
except (OSError, RuntimeError):
    pass
print(count, flush=True)
os._exit(0)
`,
            { limits: { processes: 20 } },
          ),
        )
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 })
        const count = Number(textOf(outcome.stdout))
        expect(count).toBeGreaterThanOrEqual(8)
        expect(count).toBeLessThan(20)
      })

      test('TOOL-4 of writes: a full folder is an error, not an end', async () => {
        const outcome = await run(
          python(
            `
import errno
written = 0
try:
    with open("/tmp/big", "wb", buffering=0) as file:
        while written < 64 << 20: written += file.write(b"x" * 65536)
except OSError as error:
    print(errno.errorcode[error.errno])
print(written <= 9 << 20)
`,
            { isWritable: true, limits: { scratchBytes: 8 * megabyte } },
          ),
        )
        expect(textOf(outcome.stdout)).toBe('ENOSPC\nTrue\n')
      })
    })

    describe('its world', () => {
      test.each([true, false])('TOOL-4 can be written: %s, in /tmp and nowhere else', async (isWritable) => {
        const mounted = join(folder.path, `mounted-${isWritable}`)
        mkdirSync(mounted)
        writeFileSync(join(mounted, 'file'), 'as it was')
        // Only the mount itself forbids it.
        for (const path of [mounted, join(mounted, 'file')]) chmodSync(path, 0o777)
        const mounts = [{ source: mounted, target: '/tool' }]
        const outcome = await run(python(writableFolders, { isWritable, mounts, workingDirectory: '/tool' }))
        expect(textOf(outcome.stderr)).toBe('')
        expect(JSON.parse(textOf(outcome.stdout))).toEqual(isWritable ? ['/tmp'] : [])
        expect(readFileSync(join(mounted, 'file'), 'utf8')).toBe('as it was')
      })

      test('TOOL-4 nothing that was written is there in the next run', async () => {
        const source = 'import os; print(os.listdir("/tmp")); open("/tmp/left", "w").write("x")'
        for (const _ of [1, 2]) {
          expect(textOf((await run(python(source, { isWritable: true }))).stdout)).toBe('[]\n')
        }
      })

      test('TOOL-2 the environment is what the command says', async () => {
        process.env.FAMILIAR_CANARY = 'of this machine'
        const environment = { GREETING: 'Grüße\n"quoted"', EMPTY: '' }
        const { stdout } = await run(commandOf(['env', '-0'], { environment }))
        delete process.env.FAMILIAR_CANARY
        const found = textOf(stdout).split('\0').filter(Boolean)
        expect(found).toEqual(expect.arrayContaining(['GREETING=Grüße\n"quoted"', 'EMPTY=']))
        // The folder that it is in, which shells and bubblewrap set by themselves.
        const names = found.map((pair) => pair.slice(0, pair.indexOf('='))).filter((each) => each !== 'PWD')
        expect(names.toSorted()).toEqual(['EMPTY', 'GREETING', 'HOME', 'LANG', 'PATH'])
      })

      test('TOOL-2 files and folders of this machine, read-only, where the command wants them', async () => {
        const source = join(folder.path, 'a folder: ünï,codé')
        mkdirSync(join(source, 'inner'), { recursive: true })
        writeFileSync(join(source, 'inner', 'data.bin'), Buffer.from([0, 255, 10]))
        for (const path of ['', 'inner', 'inner/data.bin']) chmodSync(join(source, path), 0o777)
        const mounts = [
          { source, target: '/deep/er/folder' },
          { source: join(source, 'inner', 'data.bin'), target: '/alone.bin' },
        ]
        const outcome = await run(
          python(
            `
import os
print(os.getcwd(), os.listdir("."), open("inner/data.bin", "rb").read() == open("/alone.bin", "rb").read())
for path in ("/alone.bin", "inner/data.bin", "new"):
    try: open(path, "ab").write(b"x"); print("wrote", path)
    except OSError: pass
`,
            { mounts, workingDirectory: '/deep/er/folder' },
          ),
        )
        expect(textOf(outcome.stdout)).toBe("/deep/er/folder ['inner'] True\n")
        expect(readFileSync(join(source, 'inner', 'data.bin')).length).toBe(3)
      })

      test('SEC-26 a writable folder keeps what is written there, and nothing else is writable', async () => {
        const [own, other] = await Promise.all(['own', 'other'].map((name) => sandbox.driver.makeFolder(name)))
        if (!own || !other) throw new Error('There is no folder')
        const kept = join(folder.path, 'SOUL.md')
        for (const path of [kept, join(own.path, 'SOUL.md'), join(other.path, 'private')]) writeFileSync(path, 'mine')
        chmodSync(kept, 0o666)
        const command = python(writeInto, {
          mounts: [
            { source: own.path, target: '/workspace', isWritable: true },
            { source: kept, target: '/workspace/SOUL.md' },
          ],
          workingDirectory: '/workspace',
        })
        expect(textOf((await run(command)).stdout).split('\n')).toEqual([
          ...['made', 'made again', 'SOUL.md: closed', 'replace SOUL.md: closed', 'remove SOUL.md: closed'],
          ...['device: closed', 'above: closed', 'root: closed', ''],
        ])
        expect(readFileSync(join(own.path, 'inner', 'made'), 'utf8')).toBe('made again')
        expect([readFileSync(kept, 'utf8'), readFileSync(join(other.path, 'private'), 'utf8')]).toEqual([
          'mine',
          'mine',
        ])
        const again = await run({ ...command, argv: ['cat', 'inner/made'] })
        expect(textOf(again.stdout)).toBe('made again')
        expect((await sandbox.driver.makeFolder('own')).path).toBe(own.path)
        for (const { path } of [own, other]) rmSync(path, { recursive: true })
      })

      test('SEC-26 no folder but the sandbox’s own is mounted writable', async () => {
        const source = join(folder.path, 'not-made-for-it')
        mkdirSync(source)
        chmodSync(source, 0o777)
        const mounts = [{ source, target: '/workspace', isWritable: true as const }]
        await expect(run(python('open("/workspace/x", "w")', { mounts }))).rejects.toThrow('of the sandbox')
        expect(readdirSync(source)).toEqual([])
      })

      test('SEC-12 none of this machine’s network, unless it is asked for', async () => {
        const server = createServer((socket) => socket.end('reached'))
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        const address = server.address()
        const port = address && typeof address === 'object' ? address.port : 0
        const asking = python(`
import socket
print(sorted(line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line))
try: print(socket.create_connection(("127.0.0.1", ${port}), 3).recv(99).decode())
except OSError as error: print(type(error).__name__)
`)
        const closed = await run(asking)
        expect(textOf(closed.stdout)).toBe("['lo']\nConnectionRefusedError\n")
        const opened = await run({ ...asking, network: { kind: 'host' } })
        expect(textOf(opened.stdout)).toContain('reached\n')
        server.close()
      })

      test('SEC-12 through the proxy, and no other way', async () => {
        const asked: string[] = []
        const proxy = createHttpServer((request, response) => {
          asked.push(request.url ?? '')
          response.end(`for ${request.url}`)
        })
        const socketPath = join(folder.path, 'proxy.sock')
        proxy.listen(socketPath)
        await once(proxy, 'listening')
        const outcome = await run(
          python(
            `
import json, os, socket, sys, urllib.request
print(urllib.request.urlopen("http://example.test/page").read().decode())
for address in (("1.1.1.1", 80), ("example.test", 80)):
    try: socket.create_connection(address, 2); print("open")
    except OSError: print("closed")
print(sys.stdin.read(), file=sys.stderr)
os.write(3, b"result")
sys.exit(4)
`,
            { network: { kind: 'proxy', socketPath }, stdin: 'input' },
          ),
        )
        proxy.close()
        expect(textOf(outcome.stderr)).toBe('input\n')
        expect(textOf(outcome.stdout)).toBe('for http://example.test/page\nclosed\nclosed\n')
        expect(outcome).toMatchObject({ end: { kind: 'exited', code: 4 } })
        expect(textOf(outcome.result)).toBe('result')
        expect(asked).toEqual(['http://example.test/page'])
      })
    })

    describe('runs', () => {
      test('at the same time do not mix', async () => {
        const numbers = [1, 2, 3, 4, 5, 6]
        const outcomes = await Promise.all(
          numbers.map((number) =>
            run(
              python(
                `
import os, sys, time
open("/tmp/mine", "w").write(sys.stdin.read())
time.sleep(0.2)
print(os.listdir("/tmp"), open("/tmp/mine").read())
os.write(3, b"${number}")
`,
                { isWritable: true, stdin: `input ${number}` },
              ),
            ),
          ),
        )
        const told = (outcome: SandboxOutcome) => [textOf(outcome.stdout), textOf(outcome.result)]
        expect(outcomes.map(told)).toEqual(numbers.map((number) => [`['mine'] input ${number}\n`, String(number)]))
      })

      test('TOOL-11 that are aborted end at once, with the reason', async () => {
        const mark = newMark()
        const stop = new AbortController()
        const running = run(python(stubborn(mark), { signal: stop.signal }))
        await until(() => processesMarked(mark).length > 0)
        const reason = new Error('not any more')
        stop.abort(reason)
        await expect(running).rejects.toBe(reason)
        expect(processesMarked(mark)).toEqual([])
      })

      test('that are aborted before they begin do not begin', async () => {
        const mark = newMark()
        const reason = new Error('never')
        await expect(run(python(stubborn(mark), { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
        expect(processesMarked(mark)).toEqual([])
      })

      test('end when the driver is closed', async () => {
        const mark = newMark()
        const another = sandbox.another()
        const running = another.run(python(stubborn(mark)))
        running.catch(() => undefined)
        await until(() => processesMarked(mark).length > 0)
        await another.close()
        await expect(running).rejects.toThrow()
        expect(processesMarked(mark)).toEqual([])
        await expect(another.run(commandOf(['true']))).rejects.toThrow()
      })
    })

    test('SEC-12 leaves nothing behind', async () => {
      await sandbox.driver.close()
      expect(sandbox.leftovers()).toEqual([])
    })
  })
}

const empty = expect.toSatisfy((bytes: Uint8Array) => bytes.length === 0)

/** Several processes that hold on to life: without a session, without parents, deaf to signals. */
function stubborn(mark: string): string {
  return `
${bearing(mark)}
import os, signal, time
print("begun", flush=True)
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(name, signal.SIG_IGN)
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        os.fork()
        time.sleep(600)
        os._exit(0)
time.sleep(600)
`
}

const writeInto = `
import os, stat
os.mkdir("inner")
open("inner/made", "w").write("made")
print(open("inner/made").read())
open("inner/made", "w").write("made again")
print(open("inner/made").read())
def tried(name, attempt):
    try: attempt(); print(name + ": open")
    except OSError: print(name + ": closed")
tried("SOUL.md", lambda: open("SOUL.md", "w").write("taken"))
open("other", "w").write("taken")
tried("replace SOUL.md", lambda: os.rename("other", "SOUL.md"))
tried("remove SOUL.md", lambda: os.unlink("SOUL.md"))
tried("device", lambda: os.mknod("zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5)))
tried("above", lambda: open("../beside", "w"))
tried("root", lambda: open("/written", "w"))
`

const writableFolders = `
import json, os
writable = []
for folder, names, files in os.walk("/"):
    names[:] = [name for name in names if not os.path.islink(os.path.join(folder, name))]
    if folder == "/": names[:] = [name for name in names if name not in ("proc", "sys", "usr")] + ["usr"]
    if folder.count("/") > 3: names[:] = []
    path = os.path.join(folder, "written-by-a-test")
    try:
        open(path, "w").write("x")
        os.unlink(path)
        writable.append(folder)
    except OSError:
        pass
try:
    open("file", "a").write("x")
    writable.append("file")
except OSError:
    pass
print(json.dumps(writable))
`
