import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandChanges, commandOf, textOf } from '../../../test/contract/sandbox-support.ts'
import { embeddedDrivers, hasBubblewrap, ownChildren } from '../../../test/support/embedded-sandbox.ts'
import type { SandboxDriver } from '../sandbox.ts'

/** Scripts that check everything in which a forked Python could differ from a started one. */
const scripts: Readonly<Record<string, string>> = {
  'the module that it runs in': `
import sys
print(__name__, __file__, __doc__, __package__, __spec__, sorted(globals()), sys.modules["__main__"].__dict__ is globals())
print(type(__loader__).__name__, __builtins__.__name__, __cached__)`,
  'its arguments and paths':
    'import sys; print(sys.argv, sys.orig_argv, sys.path, sys.executable, sys.prefix, sys.flags)',
  'its environment': 'import os; print(sorted(os.environ.items()), os.getcwd(), os.umask(0))',
  'what it is seen as': `
print(open("/proc/self/cmdline", "rb").read(), sorted(open("/proc/self/environ", "rb").read().split(b"\\0")))`,
  'its streams': `
import sys
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.encoding, stream.errors, stream.isatty(), stream.seekable(), stream.line_buffering, stream.fileno())
print(repr(sys.stdin.read()))`,
  'its place among processes': `
import os, resource
print(os.getpid(), os.getppid(), os.getuid(), os.getgroups(), os.getsid(0), os.getpgrp(), os.nice(0))
print([resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT")])
print([open("/proc/self/status").read().split(name)[1].split("\\n")[0] for name in ("SigBlk:", "SigIgn:", "SigCgt:")])`,
  'its mounts': `
for line in open("/proc/self/mountinfo"):
    fields = line.split()
    # Devices are devices on both kinds of mounts; the new root has its size and place from whoever made it.
    options = [option for option in fields[5].split(",") if option != "noexec"]
    if not fields[4].startswith("/dev/") and fields[4] != "/": print(fields[4], options, line.split(" - ")[1].split()[0])`,
  'its network, name and cgroup': `
import os, socket
print(socket.gethostname(), socket.if_nameindex() if hasattr(socket, "nothing") else "", os.uname().nodename)
print(open("/proc/net/dev").read().count(":"), open("/proc/self/cgroup").read())
server = socket.create_server(("127.0.0.1", 0)); print(socket.create_connection(server.getsockname()).fileno() > 3)`,
  'an exception': 'def f():\n  raise ValueError("no")\nf()',
  'an exception in an exception': 'try:\n  1 / 0\nexcept Exception as error:\n  raise KeyError("x") from error',
  'a syntax error': 'print("never")\nif True\n',
  'an exit code': 'import sys; sys.exit(3)',
  'a large exit code': 'import sys; sys.exit(259)',
  'an exit with a text': 'import sys; sys.exit("that is why")',
  'an exit with nothing': 'raise SystemExit',
  'an end by a signal': 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)',
  'an interrupt': 'raise KeyboardInterrupt',
  'an abort': 'import os; os.abort()',
  'what is registered for the end': 'import atexit; atexit.register(print, "at the end"); print("before")',
  'a hook for exceptions': 'import sys; sys.excepthook = lambda *what: print("hooked", what[0].__name__); 1 / 0',
  'a thread that goes on': `
import threading, time
threading.Thread(target=lambda: (time.sleep(0.1), print("from the thread"))).start(); print("from the script")`,
  'files that nobody closes': `
import os
result = os.fdopen(3, "w"); result.write("the result")
class Last:
    def __del__(self): os.write(1, b"the last words\\n")
last = Last()`,
  'output without an end of line': 'import sys; sys.stdout.write("half"); sys.stderr.write("half")',
  'a closed output': 'import sys; print("x"); sys.stdout.close()',
  'text in all tongues': 'print("Grüße 🦊 中文 \\u202e")',
  'text that is no text': 'import sys; print("\\ud800")',
  'a child process':
    'import subprocess; print(subprocess.run(["sh", "-c", "echo $$ $PPID; exit 4"], capture_output=True))',
  'children of its own': `
import os
child = os.fork()
if child == 0: os._exit(5)
print(child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))`,
  'a pool of processes': `
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))`,
  'event loops': 'import asyncio; asyncio.run(asyncio.sleep(0)); print("slept")',
  'modules beside it': 'import helper; print(helper.name, helper.__file__)',
  'modules of a name that others have': 'import shadowed.json; import string; print(string.__file__, string.mine)',
  'the time of its zone': 'import time; print(time.tzname, time.localtime(0)[:6])',
}

const cases: readonly { name: string; argv: [string, ...string[]]; changes?: CommandChanges }[] = [
  { name: 'no file', argv: ['python3', '/tool/nothing.py'] },
  { name: 'a folder', argv: ['python3', '/tool/folder'] },
  { name: 'a folder that is a program', argv: ['python3', '/tool/application', 'x'] },
  { name: 'a text', argv: ['python3', '-c', 'import sys; print(sys.argv, sys.path, sorted(globals()))', 'a', '-b'] },
  { name: 'a text that fails', argv: ['python3', '-c', 'def f(): 1 / 0\nf()'] },
  { name: 'a text with an error', argv: ['python3', '-c', 'if'] },
  {
    name: 'a file beside the working directory',
    argv: ['python3', 'script.py'],
    changes: { workingDirectory: '/tool' },
  },
  {
    name: 'a search path',
    argv: ['python3', '-c', 'import sys, extra; print(sys.path, extra.__file__)'],
    changes: { environment: { PYTHONPATH: '/tool/more:relative', PYTHONDONTWRITEBYTECODE: '1' } },
  },
  { name: 'nothing to write', argv: ['python3', '-c', 'open("/tmp/x", "w")'], changes: { isWritable: false } },
  { name: 'a limit of files', argv: ['python3', '-c', 'while True: open("/dev/null").fileno(); import os; os.dup(0)'] },
]

const { open, closeAll } = embeddedDrivers()
const tool = mkdtempSync(join(tmpdir(), 'familiar-tool-'))
let started: SandboxDriver
let forked: SandboxDriver

beforeAll(() => {
  const write = (path: string, text: string) => writeFileSync(join(tool, path), text)
  for (const folder of ['folder', 'application', 'more', 'shadow', 'shadow/shadowed']) mkdirSync(join(tool, folder))
  write('script.py', 'print(__file__)')
  write('helper.py', 'name = __name__')
  write('more/extra.py', '')
  write('shadow/string.py', 'mine = True')
  write('shadow/shadowed/json.py', '')
  write('application/__main__.py', 'import sys; print(sys.argv, sys.path[0], __name__)')
  for (const [index, [name, text]] of Object.entries(scripts).entries()) {
    write(`${name.includes('others have') ? 'shadow/' : ''}${index}.py`, text)
  }
  started = open({ forkServer: 'off' }).driver
  forked = open({ forkServer: 'eager' }).driver
})

afterAll(async () => {
  await closeAll()
  rmSync(tool, { recursive: true, force: true })
})

async function outcomeOf(driver: SandboxDriver, argv: [string, ...string[]], changes: CommandChanges = {}) {
  const outcome = await driver.run(
    commandOf(argv, {
      mounts: [{ source: tool, target: '/tool' }],
      isWritable: true,
      environment: { NAME: 'a value', TZ: 'America/New_York' },
      stdin: 'something\nto read',
      ...changes,
    }),
  )
  return {
    end: outcome.end,
    stdout: textOf(outcome.stdout),
    stderr: textOf(outcome.stderr),
    result: textOf(outcome.result),
  }
}

describe.skipIf(!hasBubblewrap)('a forked Python (bubblewrap is needed)', () => {
  it('TOOL-4 is used, so that the tests below compare two things', async () => {
    await outcomeOf(forked, ['python3', '-c', ''])
    expect(ownChildren('python3')).toHaveLength(1)
    const memory = 'print([line for line in open("/proc/self/maps") if "ctypes" in line] != [])'
    expect((await outcomeOf(forked, ['python3', '-c', memory])).stdout).toBe('True\n')
    expect((await outcomeOf(started, ['python3', '-c', memory])).stdout).toBe('False\n')
  })

  it.each(Object.keys(scripts).map((name, index) => [name, index] as const))(
    'TOOL-4 gives the same result as a started one: %s',
    async (name, index) => {
      const argv: [string, ...string[]] = [
        'python3',
        `/tool/${name.includes('others have') ? 'shadow/' : ''}${index}.py`,
        'first',
        'second word',
      ]
      const [expected, actual] = await Promise.all([outcomeOf(started, argv), outcomeOf(forked, argv)])
      expect(actual).toEqual(expected)
    },
  )

  it.each(cases)('TOOL-4 gives the same result as a started one, with $name', async ({ argv, changes }) => {
    const [expected, actual] = await Promise.all([outcomeOf(started, argv, changes), outcomeOf(forked, argv, changes)])
    expect(actual).toEqual(expected)
  })

  it('SEC-12 knows nothing of earlier calls', async () => {
    const secret = ['c4n4ry', 'of', 'one', 'call'].join('-')
    await outcomeOf(forked, ['python3', '-c', `import os; secret = "${secret}"; print(os.environ["KEY"])`], {
      environment: { KEY: secret },
      stdin: secret.repeat(100),
    })
    // Every page that the process can read.
    const search = `
import re
wanted = re.compile(b"-".join([b"c4n4ry", b"of", b"one", b"call"]))
found = 0
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "r" not in line.split()[1] or "[v" in line: continue
        try:
            memory.seek(start)
            found += len(wanted.findall(memory.read(end - start)))
        except (OSError, ValueError, OverflowError): pass
print(found)`
    // It may find only its own pattern.
    const alone = await outcomeOf(started, ['python3', '-c', search])
    expect((await outcomeOf(forked, ['python3', '-c', search])).stdout).toBe(alone.stdout)
    const planted = await outcomeOf(forked, ['python3', '-c', search], { environment: { KEY: secret } })
    expect(Number(planted.stdout)).toBeGreaterThan(Number(alone.stdout))
  })

  it('SEC-12 has its own randomness', async () => {
    const draw =
      'import random, os, tempfile, uuid; print(random.random(), uuid.uuid4(), os.urandom(4), tempfile.mktemp())'
    const drawn = await Promise.all([1, 2, 3, 4].map(() => outcomeOf(forked, ['python3', '-c', draw])))
    expect(new Set(drawn.map(({ stdout }) => stdout)).size).toBe(4)
  })

  it('SEC-12 shares no namespace, file or memory with another one', async () => {
    const look = `
import os, time
open("/tmp/mark", "x"); open("/dev/shm/mark2", "x")
print([os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns") if "time" not in name])
print(sorted(os.listdir("/tmp")), [pid for pid in os.listdir("/proc") if pid.isdigit()])
time.sleep(0.3)`
    const seen = await Promise.all([1, 2, 3].map(() => outcomeOf(forked, ['python3', '-c', look])))
    const namespaces = seen.flatMap(({ stdout }) => stdout.match(/\w+:\[\d+\]/g) ?? [])
    // User, mount, pid, for children, network, ipc, uts, cgroup: the pid namespace is named twice.
    expect(new Set(namespaces).size).toBe(3 * 7)
    for (const { stdout } of seen) expect(stdout).toContain("['mark', 'mark2'] ['1', '2']")
  })

  it('SEC-12 recovers after the fork server was killed, and restarts it', async () => {
    const { driver } = open({ forkServer: 'eager' })
    const mark = `sleeper-${process.pid}`
    await outcomeOf(driver, ['python3', '-c', ''])
    const sleeping = outcomeOf(driver, ['python3', '-c', 'import time; time.sleep(60)', mark])
    const failed = expect(sleeping).rejects.toThrow('fork server')
    await expect.poll(() => isRunning(mark), { timeout: 10_000 }).toBe(true)
    for (const pid of ownChildren('python3')) process.kill(pid, 'SIGKILL')
    await failed
    expect((await outcomeOf(driver, ['python3', '-c', 'print("again")'])).stdout).toBe('again\n')
    expect((await outcomeOf(forked, ['python3', '-c', 'print("again")'])).stdout).toBe('again\n')
  })
})

/** Whether any process on this machine has this in its arguments. */
function isRunning(word: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
    } catch {
      return false
    }
  })
}
