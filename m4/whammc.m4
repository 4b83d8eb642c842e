# m4/whammc.m4 - macros of whammc's configure script.

# WHAMMC_CHECK_CFLAGS(VARIABLE, FLAGS)
# Appends to VARIABLE each of FLAGS that the C compiler accepts.
AC_DEFUN([WHAMMC_CHECK_CFLAGS], [
  for whammc_flag in $2; do
    AS_VAR_PUSHDEF([whammc_cache], [whammc_cv_cflag_$whammc_flag])
    AC_CACHE_CHECK([whether $CC accepts $whammc_flag], [whammc_cache], [
      whammc_save_CFLAGS=$CFLAGS
      CFLAGS="$CFLAGS -Werror $whammc_flag"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
        [AS_VAR_SET([whammc_cache], [yes])], [AS_VAR_SET([whammc_cache], [no])])
      CFLAGS=$whammc_save_CFLAGS
    ])
    AS_VAR_IF([whammc_cache], [yes], [AS_VAR_APPEND([$1], [" $whammc_flag"])])
    AS_VAR_POPDEF([whammc_cache])
  done
])

# WHAMMC_NEED_PROG(VARIABLE, NAMES, WHAT FOR, DEBIAN PACKAGE)
# Finds one of NAMES or stops with the name of the package that has it.
AC_DEFUN([WHAMMC_NEED_PROG], [
  AC_CHECK_PROGS([$1], [$2])
  AS_VAR_IF([$1], [],
    [AC_MSG_ERROR([none of "$2" was found; it is needed $3 (Debian package: $4)])])
])

# WHAMMC_SONAME(LIBRARY, FUNCTION)
# Sets whammc_soname to the file that is to be loaded for a shared library; empty if there is none.
AC_DEFUN([WHAMMC_SONAME], [
  AC_MSG_CHECKING([for the file of lib$1])
  whammc_save_LIBS=$LIBS
  LIBS="-l$1 $LIBS"
  whammc_soname=
  AC_LINK_IFELSE([AC_LANG_CALL([], [$2])],
    [whammc_soname=`${OBJDUMP:-objdump} -p conftest$EXEEXT 2>/dev/null | sed -n 's/^ *NEEDED  *\(lib$1\.so[[^ ]]*\)$/\1/p'`])
  LIBS=$whammc_save_LIBS
  AC_MSG_RESULT([${whammc_soname:-none}])
])

# WHAMMC_LIBIBERTY
# Looks for libiberty, which knows the names that C++ and Rust make symbols from; sets LIBIBERTY_LIBS
# and have_libiberty.
AC_DEFUN([WHAMMC_LIBIBERTY], [
  AC_ARG_WITH([libiberty],
    [AS_HELP_STRING([--without-libiberty], [do not demangle names of C++ and Rust functions])],
    [], [with_libiberty=check])
  have_libiberty=no
  LIBIBERTY_LIBS=
  AS_IF([test "x$with_libiberty" != xno], [
    AC_CHECK_HEADERS([libiberty/demangle.h demangle.h], [whammc_demangle_h=yes; break], [], [-])
    AC_CHECK_LIB([iberty], [cplus_demangle_v3_callback], [
      AS_IF([test "x$whammc_demangle_h" = xyes], [have_libiberty=yes])])
    AS_IF([test "x$have_libiberty" = xyes], [
      LIBIBERTY_LIBS=-liberty
      AC_DEFINE([HAVE_LIBIBERTY], [1], [Define to 1 if libiberty demangles names.])
    ], [test "x$with_libiberty" = xcheck], [
      AC_MSG_WARN([libiberty was not found (Debian package: libiberty-dev): names of C++ and Rust functions will be shown as they are in programs])
    ], [
      AC_MSG_ERROR([libiberty was not found (Debian package: libiberty-dev)])])])
  AC_SUBST([LIBIBERTY_LIBS])
])

# WHAMMC_HTTP_LIBRARY(LIBRARY, FUNCTION, HEADER, PACKAGE, NAME)
# Defines NAME to the file that is to be loaded for a library; fails if there is no such library.
AC_DEFUN([WHAMMC_HTTP_LIBRARY], [
  AC_CHECK_HEADER([$3], [], [AC_MSG_ERROR([$3 was not found (Debian package: $4); --without-http goes without])])
  WHAMMC_SONAME([$1], [$2])
  AS_IF([test "x$whammc_soname" = x],
    [AC_MSG_ERROR([the shared library lib$1 was not found (Debian package: $4); --without-http goes without])])
  AC_DEFINE_UNQUOTED([$5], ["$whammc_soname"], [The file of lib$1.])
])

# WHAMMC_HTTP
# Looks for what serves reports while a program runs, libmicrohttpd, and what sends profiles, libcurl. They are loaded when
# they are needed.
AC_DEFUN([WHAMMC_HTTP], [
  AC_ARG_WITH([http],
    [AS_HELP_STRING([--without-http], [neither serve reports while a program runs (--http) nor send profiles (--push)])])
  AS_IF([test "x$with_http" != xno], [
    WHAMMC_HTTP_LIBRARY([microhttpd], [MHD_start_daemon], [microhttpd.h], [libmicrohttpd-dev], [MICROHTTPD_FILE])
    WHAMMC_HTTP_LIBRARY([curl], [curl_url], [curl/curl.h], [libcurl4-openssl-dev], [CURL_FILE])
    AC_SEARCH_LIBS([dlopen], [dl])
    AC_DEFINE([HAVE_HTTP], [1], [Define to 1 if libmicrohttpd serves reports and libcurl sends profiles.])])
])

# WHAMMC_ZLIB
# Finds zlib, which compresses profiles for pprof; sets ZLIB_LIBS.
AC_DEFUN([WHAMMC_ZLIB], [
  AC_CHECK_HEADER([zlib.h], [],
    [AC_MSG_ERROR([zlib.h was not found (Debian package: zlib1g-dev)])])
  AC_CHECK_LIB([z], [deflateSetHeader], [:],
    [AC_MSG_ERROR([zlib was not found (Debian package: zlib1g-dev)])])
  AC_SUBST([ZLIB_LIBS], [-lz])
])
