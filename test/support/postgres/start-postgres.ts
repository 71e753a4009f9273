import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A server of the test's own: its folder, its socket, nothing of the machine's. */
export interface RunningPostgres {
  /** Of the superuser `postgres`, who needs no password. */
  urlOf(database: string): string
  /** Holds the socket `.s.PGSQL.5432`, the data and the log. */
  directory: string
  /** Of the server's first process. */
  pid(): number
  stop(): Promise<void>
}

export interface StartPostgresOptions {
  /** The folder of `initdb` and `postgres`. */
  binaries?: string | undefined
  settings?: Readonly<Record<string, string>>
}

const installed = '/usr/lib/postgresql'

/** Why there is none here, or undefined. Part of the name of skipped tests. */
export function whyNoPostgres(): string | undefined {
  return newestBinaries() ? undefined : `PostgreSQL is not installed below ${installed}`
}

/**
 * Starts a server that ends with this process for whatever reason: its supervisor waits for the end of a pipe from
 * here, then kills the server and removes its folder. Its data does not survive a machine failure.
 */
export async function startPostgres({
  binaries = newestBinaries(),
  settings,
}: StartPostgresOptions = {}): Promise<RunningPostgres> {
  if (!binaries) throw new Error(whyNoPostgres())
  const directory = mkdtempSync(join(tmpdir(), 'familiar-postgres-'))
  const [command, ...args] = ['/bin/sh', '-c', holdServer, 'sh', binaries, directory, ...toArguments(settings)]
  // Root may not run it.
  const user = process.getuid?.() === 0 ? postgresUser() : undefined
  if (user) await chown(directory, user.uid, user.gid)
  const holder = spawn(command ?? '', args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    cwd: directory,
    ...user,
  })
  let said = ''
  holder.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const started = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit').then(() => undefined)])
  if (!started) throw new Error(`PostgreSQL did not start: ${said}`)
  holder.unref()
  for (const stream of [holder.stdin, holder.stdout, holder.stderr]) (stream as unknown as { unref(): void }).unref()
  return {
    directory,
    urlOf: (database) => `postgres://postgres@localhost/${database}?host=${encodeURIComponent(directory)}`,
    pid: () => Number(readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]),
    async stop() {
      if (holder.exitCode !== null) return
      holder.stdin.end()
      await once(holder, 'exit')
    },
  }
}

const defaults = {
  listen_addresses: '',
  // The data is not needed after a machine failure.
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  shared_buffers: '64MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  jit: 'off',
}

function toArguments(settings: StartPostgresOptions['settings']): string[] {
  return Object.entries({ ...defaults, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

// Restarted when it was asked to end, so that tests can restart it; gone when the pipe from the tests is. It sorts like
// a production server, not by bytes, which reveals queries that leave the order to the server.
const holdServer = `
binaries=$1 directory=$2
shift 2
"$binaries/initdb" --pgdata=data --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 \\
  --locale-provider=icu --icu-locale=en-US --no-sync \\
  >initdb.log 2>&1 || { cat initdb.log >&2; rm -rf "$directory"; exit 1; }
while true; do
  "$binaries/postgres" -D data -k "$directory" "$@" >>server.log 2>&1
  [ -e ended ] && break
  sleep 0.2
done &
keeper=$!
tries=0
until "$binaries/pg_isready" -q -h "$directory"; do
  tries=$((tries + 1))
  [ "$tries" -gt 600 ] && { cat server.log >&2; touch ended; break; }
  sleep 0.05
done
[ -e ended ] || { echo ready; cat >/dev/null; }
touch ended
[ -e data/postmaster.pid ] && kill -QUIT "$(head -n 1 data/postmaster.pid)"
wait "$keeper"
cd / && rm -rf "$directory"
`

function newestBinaries(): string | undefined {
  const versions = existsSync(installed) ? readdirSync(installed) : []
  const [newest] = versions.toSorted((a, b) => Number(b) - Number(a))
  const folder = process.env.FAMILIAR_TEST_POSTGRES_BINARIES ?? join(installed, newest ?? '', 'bin')
  return existsSync(join(folder, 'initdb')) ? folder : undefined
}

function postgresUser(): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}
