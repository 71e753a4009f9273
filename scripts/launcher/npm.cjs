'use strict'

const fs = require('fs')
const path = require('path')
const messages = require('./messages.cjs')
const places = require('./places.cjs')
const runChild = require('./run-child.cjs').runChild
const holdLockFor = require('./start-lock.cjs').holdLockFor

const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
// npm's own pauses add up to more than a minute before it reports that there is no network.
const impatient = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']

/**
 * Runs npm under the lock of this start, silently. `request` is { args, what, into, help }; the last three are used
 * in the error message: what was tried, where, and what to do.
 */
function npm(request) {
  const found = findNpm()
  if (!found) return Promise.reject(noNpm(request))
  const options = { cwd: places.root, stdio: ['ignore', 'pipe', 'pipe'], onStart: holdLockFor }
  const args = found.args.concat(request.args, quiet, impatient)
  return runChild(found.command, args, options).then((result) => {
    if (result.received) throw messages.interrupted(result.received)
    if (result.code !== 0) throw failed(request, found, result)
  })
}

function findNpm() {
  const folder = path.dirname(process.execPath)
  const cli = path.join('node_modules', 'npm', 'bin', 'npm-cli.js')
  // Under `npm start` this is the npm that the user chose; other package managers set it too.
  const calling = process.env.npm_execpath
  const inPath = (process.env.PATH || process.env.Path || '').split(path.delimiter).filter(Boolean)
  const chosen = calling && path.basename(calling) === 'npm-cli.js' ? [calling] : []
  const beside = [path.join(folder, cli), path.join(folder, '..', 'lib', cli)]
  // Windows cannot start npm's scripts without a shell, but the program that they start lies beside them.
  const besideScripts = process.platform === 'win32' ? inPath.map((place) => path.join(place, cli)) : []
  const program = chosen.concat(beside, besideScripts).filter((file) => fs.existsSync(file))[0]
  if (program) return { command: process.execPath, args: [program], shown: program }
  const script = inPath.map((place) => path.join(place, 'npm')).filter(isExecutable)[0]
  return script ? { command: script, args: [], shown: script } : null
}

function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch (_error) {
    return false
  }
}

function noNpm(request) {
  return messages.expected(
    `npm is needed to install ${request.what}, and there is none.
  Looked beside ${process.execPath} (Node ${process.version}) and in PATH.
  To fix it: install npm (it comes with the Node of nodejs.org) and start again.`
  )
}

function failed(request, found, result) {
  const end = result.signal ? `stopped by ${result.signal}` : `exit code ${result.code}`
  return messages.expected(
    `could not install ${request.what}.
  Tried: ${found.shown} ${request.args.join(' ')} (${end})
  Into: ${request.into}
  npm said:
${essence(result.output)}
  To fix it: ${request.help}`
  )
}

function essence(output) {
  const lines = output.split('\n').filter(Boolean)
  const errors = lines.filter(
    (line) => /^npm (error|ERR!) \S/.test(line) && !/A complete log|Log files were/.test(line)
  )
  const chosen = errors.length > 0 ? errors.slice(0, 8) : lines.slice(-8)
  return chosen.map((line) => `    ${line}`).join('\n')
}

exports.npm = npm
