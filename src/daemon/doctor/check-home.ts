import { constants, type Stats } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { homePaths } from '../home-paths.ts'
import { type Finding, fail, ok, quoted, warn } from './finding.ts'

/** Looks and changes nothing: a start mends some of this by itself. */
export async function checkHome(homePath: string): Promise<Finding[]> {
  const found = await statOf(homePath)
  if (!found) return [await checkAncestor(homePath)]
  const home = await checkDirectory(homePath, found)
  return home.state === 'fail' ? [home] : [home, ...(await checkFiles(homePath))]
}

async function checkDirectory(path: string, found: Stats): Promise<Finding> {
  const user = process.geteuid?.()
  if (found.isSymbolicLink())
    return fail(
      'home',
      `${path} is a symlink; somebody could point it elsewhere.`,
      'familiar doctor --home "$(realpath ~/.familiar)"',
    )
  if (!found.isDirectory()) return fail('home', `${path} is not a directory.`, 'familiar doctor --home ~/.familiar')
  if (user !== undefined && found.uid !== user) {
    return fail('home', `${path} belongs to another user.`, `sudo chown -R "$(id -un)" ${quoted(path)}`)
  }
  if (!(await isWritable(path))) return fail('home', `${path} cannot be written.`, `chmod 700 ${quoted(path)}`)
  if (found.mode & 0o022) return fail('home', `Others can change ${path}.`, `chmod 700 ${quoted(path)}`)
  if (found.mode & 0o077) return warn('home', `Others can look into ${path}.`, `chmod 700 ${quoted(path)}`)
  return ok('home', path)
}

async function checkFiles(homePath: string): Promise<Finding[]> {
  const { config, environment, database, key } = homePaths(homePath)
  const findings: Finding[] = []
  for (const path of [config, environment, database, key]) {
    const found = await statOf(path)
    if (found && found.mode & 0o077) {
      findings.push(warn('home', `Others can read ${path}.`, `chmod 600 ${quoted(path)}`))
    }
  }
  return findings
}

async function checkAncestor(homePath: string): Promise<Finding> {
  let place = dirname(homePath)
  let found = await statOf(place)
  while (!found && dirname(place) !== place) {
    place = dirname(place)
    found = await statOf(place)
  }
  if (found?.isDirectory() && (await isWritable(place))) {
    return ok('home', `${homePath} does not exist yet; the first start makes it.`)
  }
  const reason = found?.isDirectory() ? 'cannot be written' : 'is not a directory'
  return fail('home', `${homePath} cannot be made: ${place} ${reason}.`, 'familiar doctor --home ~/.familiar')
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function statOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined)
}
