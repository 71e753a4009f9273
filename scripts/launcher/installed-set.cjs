'use strict'

const readJson = require('./json-file.cjs').readJson
const places = require('./places.cjs')

/**
 * What an `npm install` by hand has left in node_modules, judged by npm's own record of it: 'full', 'production', or
 * null when it is not what the lock file says. Spares a developer a second install after each of their own.
 */
function installedSet() {
  const locked = packagesOf(places.lockFile)
  const installed = packagesOf(places.record)
  const found = Object.keys(installed).filter(isInModules)
  const missing = Object.keys(locked).filter(
    (name) => isInModules(name) && !installed[name] && !isForSomeMachines(locked[name])
  )
  // A linked package carries its flags where it lives.
  const isForDevelopment = (name) => (locked[name].link ? locked[locked[name].resolved] : locked[name]).dev
  if (found.length === 0 || !found.every((name) => isSame(locked[name], installed[name]))) return null
  if (!missing.every(isForDevelopment)) return null
  return missing.length === 0 ? 'full' : 'production'
}

function packagesOf(file) {
  return (readJson(file) || {}).packages || {}
}

function isInModules(name) {
  return /^node_modules\//.test(name)
}

function isSame(locked, installed) {
  return Boolean(locked) && locked.version === installed.version && locked.integrity === installed.integrity
}

function isForSomeMachines(entry) {
  return entry.optional || entry.devOptional
}

exports.installedSet = installedSet
