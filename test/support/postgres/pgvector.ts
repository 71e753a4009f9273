import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const installed = '/usr/lib/postgresql'
const runtime = resolve(import.meta.dirname, '../../../.runtime')
const source = { name: 'pgvector', release: 'trixie' }

/**
 * The folder of a PostgreSQL's programs that knows pgvector: the machine's own server beside an extension that is built
 * here from Debian's source package, and kept for the next run. Says loudly why not where it cannot be had.
 * Building takes half a minute, and the network.
 */
export async function pgvectorBinaries(): Promise<string | undefined> {
  try {
    const [version] = (await readdir(installed)).toSorted((a, b) => Number(b) - Number(a))
    if (!version) throw new Error(`no server in ${installed}`)
    const { stdout } = await run(join(installed, version, 'bin/postgres'), ['--version'])
    const prefix = join(runtime, `postgres-pgvector-${/[\d.]+/.exec(stdout)?.[0]}`)
    const binaries = join(prefix, 'lib/postgresql', version, 'bin')
    if (!existsSync(binaries)) await makePrefix(prefix, version)
    return binaries
  } catch (error) {
    console.warn(`\n*** pgvector cannot be had: ${(error as Error).message}\n*** Its tests do not run.\n`)
    return undefined
  }
}

async function makePrefix(prefix: string, version: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'familiar-pgvector-'))
  try {
    const made = join(work, 'prefix')
    await copyServer(made, version)
    const built = await buildExtension(work, version)
    await cp(join(built, 'vector.so'), join(made, 'lib/postgresql', version, 'lib/vector.so'))
    const extensions = join(made, 'share/postgresql', version, 'extension')
    await cp(join(built, 'vector.control'), join(extensions, 'vector.control'))
    const control = await readFile(join(built, 'vector.control'), 'utf8')
    const script = `vector--${/default_version = '([^']+)'/.exec(control)?.[1]}.sql`
    await cp(join(built, 'sql/vector.sql'), join(extensions, script))
    await mkdir(runtime, { recursive: true })
    // Atomically: another process may do the same, and the second one finds it there.
    const beside = `${prefix}.${process.pid}`
    await cp(made, beside, { recursive: true, verbatimSymlinks: true })
    await rename(beside, prefix).catch(() => rm(beside, { recursive: true }))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** A server looks for its files beside its program: the programs are copied, the files linked. */
async function copyServer(prefix: string, version: string): Promise<void> {
  const part = join('postgresql', version)
  await cp(join(installed, version, 'bin'), join(prefix, 'lib', part, 'bin'), { recursive: true })
  await linkAll(join('/usr/lib', part, 'lib'), join(prefix, 'lib', part, 'lib'))
  await linkAll(join('/usr/share', part), join(prefix, 'share', part), ['extension'])
  await linkAll(join('/usr/share', part, 'extension'), join(prefix, 'share', part, 'extension'))
}

async function linkAll(from: string, to: string, except: readonly string[] = []): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from)) if (!except.includes(name)) await symlink(join(from, name), join(to, name))
}

async function buildExtension(work: string, version: string): Promise<string> {
  const apt = await openApt(work)
  await apt('source', '--download-only', source.name)
  await apt('download', `postgresql-server-dev-${version}`, 'libpq-dev')
  const files = await readdir(work)
  for (const file of files.filter((name) => name.endsWith('.deb'))) {
    await run('dpkg-deb', ['--extract', join(work, file), join(work, 'headers')])
  }
  const archive = files.find((name) => name.includes('.orig.tar'))
  if (!archive) throw new Error(`Debian has no ${source.name}`)
  await run('tar', ['--extract', '--file', archive], { cwd: work })
  const folder = join(work, basename(archive).replace('_', '-').split('.orig')[0] ?? '')
  const code = (await readdir(join(folder, 'src'))).filter((name) => name.endsWith('.c'))
  const headers = join(work, 'headers/usr/include/postgresql')
  const flags =
    '-O2 -fPIC -shared -ftree-vectorize -fassociative-math -fno-signed-zeros -fno-trapping-math -fno-strict-aliasing -fwrapv'
  await run(
    'gcc',
    [
      ...flags.split(' '),
      ...[`-I${headers}/${version}/server`, `-I${headers}`],
      ...code.map((name) => join('src', name)),
      ...['-lm', '-o', 'vector.so'],
    ],
    { cwd: folder },
  )
  return folder
}

/** With lists of its own: nothing of the machine's packages is changed or needed. */
async function openApt(work: string): Promise<(...command: string[]) => Promise<unknown>> {
  const codename = /^VERSION_CODENAME=(.+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1]
  const mirror = 'http://deb.debian.org'
  const sources = `
deb ${mirror}/debian ${codename} main
deb ${mirror}/debian-security ${codename}-security main
deb-src ${mirror}/debian ${source.release} main`
  await mkdir(join(work, 'lists/partial'), { recursive: true })
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true })
  await writeFile(join(work, 'sources.list'), sources.trimStart())
  const options = [
    `Dir::Etc::sourcelist=${work}/sources.list`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${work}/lists`,
    `Dir::Cache=${work}/cache`,
    'Acquire::http::Timeout=10',
    'Acquire::Retries=1',
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  const apt = (...command: string[]) => run('apt-get', [...options, ...command], { cwd: work })
  await apt('update', '--error-on=any')
  return apt
}
