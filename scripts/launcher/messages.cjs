'use strict'

const os = require('os')
const places = require('./places.cjs')

let lineIsOpen = false

/** One line for one action: what is being done, and when the returned function is called, how long it took. */
function announce(what) {
  const start = Date.now()
  process.stderr.write(`Familiar: ${what}… `)
  lineIsOpen = true
  return () => {
    lineIsOpen = false
    process.stderr.write(`done in ${((Date.now() - start) / 1000).toFixed(1)} s\n`)
  }
}

/** An error that the user can fix: printed without a stack. */
function expected(message) {
  const error = new Error(message)
  error.expected = true
  return error
}

/** A signal arrived while a child was running: clean up, then end by the same signal. */
function interrupted(signal) {
  const error = expected(`stopped by ${signal}`)
  error.signal = signal
  return error
}

/** Explains errors of the file system; returns every other error unchanged. */
function inWords(error) {
  const refusals = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT', 'EEXIST', 'ENOSPC']
  if (error.expected || !error.path || refusals.indexOf(error.code) < 0) return error
  const help = places.isPackage
    ? 'Make that folder writable for you, or give HOME a folder of your own.'
    : 'Make that folder writable for you, or clone the repository to a folder of your own.'
  return expected(
    `cannot write to ${error.path} (${error.code}).
  Familiar keeps its Node and the record of its dependencies in ${places.runtime}.
  ${help}`
  )
}

function printError(error) {
  const text = error.expected ? `Familiar: ${error.message}` : error.stack
  process.stderr.write(`${lineIsOpen ? '\n' : ''}${text}\n`)
  lineIsOpen = false
}

/** Ends as the child did, so that a shell or supervisor sees no difference. */
function dieOf(signal) {
  if (lineIsOpen) process.stderr.write('\n')
  process.exitCode = 128 + (os.constants.signals[signal] || 0)
  process.kill(process.pid, signal)
}

exports.announce = announce
exports.dieOf = dieOf
exports.expected = expected
exports.interrupted = interrupted
exports.inWords = inWords
exports.printError = printError
