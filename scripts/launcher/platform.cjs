'use strict'

const systems = { darwin: 'darwin', linux: 'linux', win32: 'win' }

/** As in the names of Node's npm packages. */
module.exports = `${systems[process.platform] || process.platform}-${process.arch}`
