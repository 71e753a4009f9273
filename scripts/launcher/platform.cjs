'use strict'

const systems = { darwin: 'darwin', linux: 'linux', win32: 'win' }

/** As the npm packages of Node spell it. */
module.exports = `${systems[process.platform] || process.platform}-${process.arch}`
