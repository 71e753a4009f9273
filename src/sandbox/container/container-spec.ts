import type { SandboxCommand } from '../sandbox.ts'
import { type EntryKit, kitPath, relayAddress } from './entry-kit.ts'
import type { RunFolder } from './run-folder.ts'

/** Nobody's: distributions keep it free, and user namespaces of the usual size have it. */
export const innerUser = { uid: 65_532, gid: 65_532 } as const

/** What the relay needs beside the command: threads of Node and its memory. */
const relayProcesses = 16
const relayBytes = 96 * 1024 * 1024

/** Tells the janitor whose it is. */
export const lifeLabel = 'familiar.life'

export interface SpecParts {
  command: SandboxCommand
  image: string
  kit: EntryKit | undefined
  /** The option by which the engine takes the list of calls. */
  seccomp: string
  folder: RunFolder
  /** The name of this life of the driver. */
  life: string
}

/** A command as the engine is told it. Whatever is not said here is the engine's default, so everything is said. */
export function containerSpec(parts: SpecParts): object {
  const { command, image, kit, seccomp, folder, life } = parts
  const { limits, network } = command
  const isProxied = network.kind === 'proxy'
  const memory = limits.memoryBytes + (isProxied ? relayBytes : 0)
  return {
    Image: image,
    Entrypoint: [...(kit?.shell ?? ['/bin/sh']), '-c', entryScript(command), 'sh'],
    Cmd: [...(isProxied ? (kit?.relay ?? []) : []), ...command.argv],
    Env: Object.entries(environmentOf(command)).map(([name, value]) => `${name}=${value}`),
    WorkingDir: command.workingDirectory,
    User: `${innerUser.uid}:${innerUser.gid}`,
    Labels: { [lifeLabel]: life },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    StopTimeout: 0,
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: network.kind === 'host' ? 'host' : 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', seccomp],
      Memory: memory,
      // The same number: no swap beside it.
      MemorySwap: memory,
      // One more for the shell that waits.
      PidsLimit: limits.processes + 1 + (isProxied ? relayProcesses : 0),
      Ulimits: ulimits(limits),
      CpuShares: 256,
      OomScoreAdj: 500,
      // No shared memory to write, and none of the machine's.
      IpcMode: 'none',
      LogConfig: { Type: 'none' },
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      Tmpfs: writablePlaces(command),
      Mounts: [
        ...(kit ? [bind(kit.directory, kitPath), ...kit.binds.map(({ source, target }) => bind(source, target))] : []),
        ...(folder.proxyPath ? [bind(folder.proxyPath, `${kitPath}/proxy.sock`)] : []),
        { ...bind(folder.resultPath, `${kitPath}/result`), ReadOnly: false },
        { ...bind(folder.accountPath, `${kitPath}/account`), ReadOnly: false },
        ...command.mounts.map(({ source, target }) => bind(source, target)),
      ],
    },
  }
}

/** Not what is mounted further down in it, which would not be read-only. */
function bind(source: string, target: string) {
  const options = { Propagation: 'private', NonRecursive: true }
  return { Type: 'bind', Source: source, Target: target, ReadOnly: true, BindOptions: options }
}

/**
 * The line that lets the command begin. It goes the way of the standard input, so whoever has read it is attached: an
 * engine may drop what is printed before that (Podman does).
 */
export const startLine = '\n'

/**
 * The shell stays as the first process and waits: as the first, the command itself could not be ended by a signal. Its
 * own words ("Killed") go nowhere; the command has the real standard error, and the result as descriptor 3. At the end it
 * looks into its control group, because engines do not reliably tell that memory ran out.
 */
function entryScript({ environment }: SandboxCommand): string {
  // Set by engines and shells, and not by whoever wrote the command.
  const foreign = ['container', 'HOSTNAME', 'PWD', 'OLDPWD', 'SHLVL', 'TERM', '_']
  const unset = foreign.filter((name) => !Object.hasOwn(environment, name))
  return [
    `unset ${unset.join(' ')}`,
    'exec 4>&2 2>/dev/null',
    // Of an input that cannot be sought in, a shell takes the line and not a byte more.
    'read -r line || exit 125',
    `"$@" 3>${kitPath}/result 2>&4 4>&-`,
    'code=$?',
    // Podman gives up on what was printed when the input breaks off before its end.
    'while read -r line; do :; done',
    `exec >${kitPath}/account`,
    'for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do',
    '[ -r $file ] && while read -r name value; do [ "$name" = oom_kill ] && echo "oom_kill $value"; done <$file',
    'done',
    'for file in /sys/fs/cgroup/memory/memory.max_usage_in_bytes /sys/fs/cgroup/memory.peak; do',
    '[ -r $file ] && read -r value <$file && echo "peak $value"',
    'done',
    'exit $code',
  ].join('\n')
}

function environmentOf({ environment, network }: SandboxCommand): Record<string, string> {
  const proxy = relayAddress
  return {
    HOME: '/tmp',
    LANG: 'C.UTF-8',
    ...environment,
    ...(network.kind === 'proxy' && {
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      http_proxy: proxy,
      https_proxy: proxy,
      NO_PROXY: 'localhost,127.0.0.1',
      no_proxy: 'localhost,127.0.0.1',
    }),
  }
}

/** Podman makes /run, /tmp and /var/tmp writable in a read-only container unless they are said to be something else. */
function writablePlaces({ isWritable, limits }: SandboxCommand): Record<string, string> {
  const closed = 'ro,nosuid,nodev,noexec,size=4k,mode=755'
  const open = `rw,nosuid,nodev,size=${limits.scratchBytes},mode=1777`
  return { '/tmp': isWritable ? open : closed, '/run': closed, '/var/tmp': closed }
}

/**
 * All said, since an engine's own numbers may be more than a process without rights may ask for (Podman as a root
 * without CAP_SYS_RESOURCE). The size of a file bounds the result, which lies on this machine's disk.
 */
function ulimits({ scratchBytes, outputBytes }: SandboxCommand['limits']) {
  const limits = {
    core: 0,
    // More than fits, so that a full folder is an error that a program can handle and not a signal that ends it.
    fsize: Math.max(scratchBytes, outputBytes) + 1024 * 1024,
    memlock: 64 * 1024,
    msgqueue: 0,
    nofile: 1024,
    nproc: 4096,
    sigpending: 1024,
  }
  return Object.entries(limits).map(([Name, value]) => ({ Name, Soft: value, Hard: value }))
}
