'use strict'

const readJson = require('./json-file.cjs').readJson
const places = require('./places.cjs')

/**
 * The set that `npm install` left in node_modules, by npm's own record: 'full', 'production', or null if it does not
 * match the lock file. A developer who ran npm needs no second install.
 */
function installedSet() {
  const locked = packagesOf(places.lockFile)
  const installed = packagesOf(places.record)
  const found = Object.keys(installed).filter(isInModules)
  const missing = Object.keys(locked).filter(
    (name) => isInModules(name) && !installed[name] && !isForSomeMachines(locked[name])
  )
  // The flags of a linked package are at its real place.
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
