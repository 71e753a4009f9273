'use strict'

const childProcess = require('child_process')
const fs = require('fs')

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Starts a child and waits for its end, whatever signals arrive. On a terminal, Ctrl-C is not passed on: the terminal
 * sends it to the child too, and many programs treat a second one as "at once, without cleaning up". Other signals are
 * always passed on: a hang-up reaches only the first process of a terminal. Resolves to
 * { code, signal, received, output }: `received` is our signal, `output` the piped output of the child. Rejects only
 * if the child cannot be started.
 */
function runChild(command, args, options) {
  const terminal = hasTerminal()
  return new Promise((resolve, reject) => {
    const child = childProcess.spawn(command, args, options)
    const output = []
    let received = null
    const passOn = (signal) => () => {
      received = signal
      if (signal !== 'SIGINT' || !terminal) child.kill(signal)
    }
    const listeners = new Map(signals.map((signal) => [signal, passOn(signal)]))
    const stopListening = () => listeners.forEach((listener, signal) => void process.removeListener(signal, listener))
    listeners.forEach((listener, signal) => void process.on(signal, listener))
    if (child.stdout) child.stdout.on('data', (chunk) => output.push(chunk))
    if (child.stderr) child.stderr.on('data', (chunk) => output.push(chunk))
    if (options.onStart && child.pid) options.onStart(child.pid)
    child.on('error', (error) => {
      stopListening()
      reject(error)
    })
    child.on('close', (code, signal) => {
      stopListening()
      resolve({ code: code, signal: signal, received: received, output: Buffer.concat(output).toString('utf8') })
    })
  })
}

function hasTerminal() {
  if (process.platform === 'win32') return true
  try {
    fs.closeSync(fs.openSync('/dev/tty', 'r'))
    return true
  } catch (_error) {
    return false
  }
}

exports.runChild = runChild
