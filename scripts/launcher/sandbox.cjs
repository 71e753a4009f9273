'use strict'

// Bubblewrap, the sandbox of tools, for a machine without it: the distribution's own package, downloaded with its own
// apt as an ordinary user and unpacked, not installed. apt checks it against the hash in its signed index. The program
// tests at its start whether the sandbox holds (src/sandbox/embedded/prove-driver.ts).

const childProcess = require('child_process')
const fs = require('fs')
const path = require('path')
const files = require('./json-file.cjs')
const leftovers = require('./leftovers.cjs')
const messages = require('./messages.cjs')
const places = require('./places.cjs')
const runChild = require('./run-child.cjs').runChild
const holdLockFor = require('./start-lock.cjs').holdLockFor

// As in src/sandbox/embedded/stage.ts: only these folders belong to the system.
const systemFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin']
const pauseMs = 60 * 60 * 1000
const patienceMs = 3 * 60 * 1000

/** Debian's and Ubuntu's packages of the libraries that bubblewrap is linked with; a small system may lack them. */
const packageOf = {
  'libcap.so.2': 'libcap2',
  'libselinux.so.1': 'libselinux1',
  'libpcre2-8.so.0': 'libpcre2-8-0',
  'libpcre.so.3': 'libpcre3',
}

const commands = [
  ['apt-get', 'sudo apt-get install bubblewrap'],
  ['dnf', 'sudo dnf install bubblewrap'],
  ['pacman', 'sudo pacman -S bubblewrap'],
  ['zypper', 'sudo zypper install bubblewrap'],
  ['apk', 'sudo apk add bubblewrap'],
]

/** Whether there is nothing to do: it is not wanted, it is installed, or its failure was reported. */
function isSettled(wanted) {
  if (wanted !== 'once' && wanted !== 'again') return true
  if (process.platform !== 'linux' || find('bwrap')) return true
  if (fs.existsSync(path.join(places.sandbox, 'bwrap'))) return true
  const stamp = files.readJson(places.sandboxStamp)
  if (!stamp || wanted === 'again') return false
  // Without apt there is nothing to try again: the command was printed once.
  if (!canFetch()) return stamp.isSaid === true
  const age = Date.now() - stamp.failedAt
  return age >= 0 && age < pauseMs
}

/** The folder appears complete or not at all. Rejects with the next step for the user; a failure is remembered. */
function install() {
  if (!canFetch()) {
    files.writeJson(places.sandboxStamp, { isSaid: true })
    // The program finds and proves an engine itself.
    if (find('docker') || find('podman')) return Promise.resolve()
    return Promise.reject(isMissing('bubblewrap is not installed'))
  }
  const temporary = leftovers.temporaryFolder()
  const done = messages.announce('fetching bubblewrap, the sandbox of tools (once)')
  return fetchInto(temporary).then(
    (whole) => {
      fs.rmSync(places.sandbox, { recursive: true, force: true })
      fs.renameSync(whole, places.sandbox)
      fs.rmSync(places.sandboxStamp, { force: true })
      leftovers.removeLeftovers()
      done()
    },
    (error) => {
      leftovers.removeLeftovers()
      if (error.signal) throw error
      files.writeJson(places.sandboxStamp, { failedAt: Date.now() })
      throw isMissing(error.message)
    }
  )
}

function fetchInto(temporary) {
  const unpacked = path.join(temporary, 'unpacked')
  const whole = path.join(temporary, 'whole')
  const libraries = path.join(whole, 'lib')
  fs.mkdirSync(unpacked)
  fs.mkdirSync(whole)
  fs.chmodSync(whole, 0o755)
  return fetchPackages(temporary, ['bubblewrap'], unpacked)
    .then(() => {
      place(path.join(unpacked, 'usr', 'bin', 'bwrap'), path.join(whole, 'bwrap'), 0o755)
      const missing = missingLibraries(path.join(whole, 'bwrap'), null)
      if (missing.length === 0) return
      const unknown = missing.filter((name) => !packageOf[name])
      if (unknown.length > 0) throw messages.expected(`bubblewrap needs ${unknown.join(', ')}`)
      // A library may need another missing library, which is only named when the first is installed.
      const packages = Object.keys(packageOf).filter((name) => missing.indexOf(name) >= 0 || /pcre2/.test(name))
      return fetchPackages(
        temporary,
        packages.map((name) => packageOf[name]),
        unpacked
      ).then(() => {
        fs.mkdirSync(libraries)
        fs.chmodSync(libraries, 0o755)
        listFiles(unpacked)
          .filter((file) => /\.so(\.\d+)+$/.test(file))
          .forEach((file) => void place(file, path.join(libraries, path.basename(file)), 0o644))
        const still = missingLibraries(path.join(whole, 'bwrap'), libraries)
        if (still.length > 0) throw messages.expected(`bubblewrap needs ${still.join(', ')}`)
      })
    })
    .then(() => {
      // Their licenses stay with them.
      listFiles(unpacked)
        .filter((file) => path.basename(file) === 'copyright')
        .forEach((file) => void place(file, path.join(whole, `copyright-${path.basename(path.dirname(file))}`), 0o644))
      return whole
    })
}

/** Uses the system's list of packages if it is current, otherwise a list of our own. */
function fetchPackages(temporary, names, unpacked) {
  const state = path.join(temporary, 'state')
  const cache = path.join(temporary, 'cache')
  const debs = path.join(temporary, 'debs')
  fs.mkdirSync(path.join(state, 'lists', 'partial'), { recursive: true })
  fs.mkdirSync(path.join(cache, 'archives', 'partial'), { recursive: true })
  fs.mkdirSync(debs, { recursive: true })
  const ownLists = [`Dir::State=${state}`, 'Dir::State::status=/var/lib/dpkg/status']
  const download = (settings) => apt(settings.concat(`Dir::Cache=${cache}`), ['download'].concat(names), debs)
  return download([])
    .catch((error) => {
      if (error.signal || error.isUntrusted) throw error
      return apt(ownLists.concat(`Dir::Cache=${cache}`), ['update'], debs).then(() => download(ownLists))
    })
    .then(() =>
      fs
        .readdirSync(debs)
        .filter((name) => /\.deb$/.test(name))
        .reduce(
          (before, name) => before.then(() => run(find('dpkg-deb'), ['-x', path.join(debs, name), unpacked], debs)),
          Promise.resolve()
        )
    )
}

function apt(settings, words, folder) {
  const all = settings.concat([
    // There is no other account for the work.
    'APT::Sandbox::User=',
    // Whatever the system's settings: a package without a signed index is refused.
    'APT::Get::AllowUnauthenticated=false',
    'Acquire::AllowInsecureRepositories=false',
    'Acquire::AllowWeakRepositories=false',
    'Acquire::AllowDowngradeToInsecureRepositories=false',
    'Acquire::Retries=0',
    'Acquire::http::Timeout=10',
    'Acquire::https::Timeout=10',
    'Acquire::Languages=none',
  ])
  const options = all.reduce((list, setting) => list.concat('-o', setting), ['-q'])
  return run(find('apt-get'), options.concat(words), folder)
}

function run(program, args, folder) {
  let timer = null
  const onStart = (pid) => {
    holdLockFor(pid)
    timer = setTimeout(() => process.kill(pid), patienceMs)
  }
  const env = Object.assign({}, process.env, { LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' })
  const options = { cwd: folder, env: env, stdio: ['ignore', 'pipe', 'pipe'], onStart: onStart }
  return runChild(program, args, options).then(
    (result) => {
      clearTimeout(timer)
      if (result.received) throw messages.interrupted(result.received)
      if (result.code === 0) return
      const error = messages.expected(essence(result.output) || `${path.basename(program)} failed`)
      error.isUntrusted = /Hash Sum mismatch|cannot be authenticated|unauthenticated/i.test(result.output)
      throw error
    },
    (error) => {
      clearTimeout(timer)
      throw error
    }
  )
}

/** The first error of apt, for use in a line. */
function essence(output) {
  const lines = output.split('\n').filter(Boolean)
  const line = lines.filter((each) => /^E: /.test(each))[0] || lines[lines.length - 1] || ''
  const mismatch = lines.filter((each) => /Hash Sum mismatch/.test(each)).length > 0
  return mismatch ? 'the package is not the one that the signed index names' : line.replace(/^[EW]: /, '').trim()
}

function missingLibraries(program, folder) {
  const env = Object.assign({}, process.env, { LC_ALL: 'C' }, folder ? { LD_LIBRARY_PATH: folder } : {})
  const ldd = find('ldd')
  if (!ldd) return []
  const result = childProcess.spawnSync(ldd, [program], { encoding: 'utf8', env: env })
  const found = String(result.stdout || '').match(/^\s*\S+ => not found/gm) || []
  return found.map((line) => line.trim().split(' ')[0])
}

function place(source, target, mode) {
  fs.copyFileSync(source, target)
  // With a loose umask others could change the file, and the program would refuse it.
  fs.chmodSync(target, mode)
}

function listFiles(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).reduce((found, entry) => {
    const file = path.join(folder, entry.name)
    return found.concat(entry.isDirectory() ? listFiles(file) : [file])
  }, [])
}

function canFetch() {
  return Boolean(find('apt-get') && find('dpkg-deb'))
}

function find(name) {
  return systemFolders
    .map((folder) => path.join(folder, name))
    .filter((file) => {
      try {
        fs.accessSync(file, fs.constants.X_OK)
        return true
      } catch (_error) {
        return false
      }
    })[0]
}

function isMissing(reason) {
  const known = commands.filter((command) => find(command[0]))[0]
  const command = known ? known[1] : 'install the package bubblewrap, or Docker or Podman'
  return messages.expected(`no sandbox, so tools do not run (${reason}).\n  To fix it: ${command}`)
}

exports.install = install
exports.isSettled = isSettled
